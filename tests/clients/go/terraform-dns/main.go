// HashiCorp's provider "dns" of Terraform, version 3.6.1, as a program that Terraform starts.
//
// The provider's own code is in internal/, unchanged and without its tests, under the Mozilla Public License 2.0
// (LICENSE): the Go module proxy does not have it in a release that has modules.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-mux/tf5muxserver"

	"github.com/hashicorp/terraform-provider-dns/internal/provider"
)

func main() {
	both := []func() tfprotov5.ProviderServer{
		providerserver.NewProtocol5(provider.NewFrameworkProvider()),
		provider.New().GRPCProvider,
	}
	server, err := tf5muxserver.NewMuxServer(context.Background(), both...)
	if err != nil {
		log.Fatal(err)
	}
	if err := tf5server.Serve("clients.test/hashicorp/dns", server.ProviderServer); err != nil {
		log.Fatal(err)
	}
}
