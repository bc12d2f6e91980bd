// A user's program that works with the library go-powerdns, which Terraform and OpenTofu providers are made of.
//
//	go-powerdns URL KEY ZONE create|parallel|delete
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/joeig/go-powerdns/v3"
)

const parallel = 10

func main() {
	log.SetFlags(0)
	url, key, zone, step := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	steps := map[string]func(context.Context, *powerdns.Client, string){
		"create":   create,
		"parallel": changeInParallel,
		"delete":   remove,
	}
	steps[step](context.Background(), powerdns.New(url, "localhost", powerdns.WithAPIKey(key)), zone)
}

func create(ctx context.Context, pdns *powerdns.Client, zone string) {
	servers, err := pdns.Servers.List(ctx)
	must(err)
	expect(len(servers) == 1 && *servers[0].ID == "localhost", "one server, localhost")
	config, err := pdns.Config.List(ctx)
	must(err)
	statistics, err := pdns.Statistics.List(ctx)
	must(err)
	expect(len(config) > 0 && len(statistics) > 0, "settings and statistics")

	_, err = pdns.Zones.AddMaster(ctx, zone, false, "", false, "", "", false, []string{"ns1.clients.test."})
	must(err)
	must(pdns.Records.Add(ctx, zone, "www."+zone, powerdns.RRTypeA, 60, []string{"192.0.2.1"},
		powerdns.WithComments(powerdns.Comment{Content: powerdns.String("by go-powerdns"), Account: powerdns.String("go")})))
	must(pdns.Records.Add(ctx, zone, "alias."+zone, powerdns.RRTypeCNAME, 60, []string{"www." + zone}))
	must(pdns.Records.Change(ctx, zone, "www."+zone, powerdns.RRTypeA, 30, []string{"192.0.2.2", "192.0.2.3"}))
	must(pdns.Records.Delete(ctx, zone, "alias."+zone, powerdns.RRTypeCNAME))
	www, err := pdns.Records.Get(ctx, zone, "www."+zone, powerdns.RRTypePtr(powerdns.RRTypeA))
	must(err)
	expect(len(www) == 1 && len(www[0].Records) == 2 && *www[0].TTL == 30, "the changed RRset")
	expect(len(www[0].Comments) == 1 && *www[0].Comments[0].Content == "by go-powerdns", "its comment")

	_, err = pdns.Metadata.Set(ctx, zone, "X-TEAM", []string{"web"})
	must(err)
	team, err := pdns.Metadata.Get(ctx, zone, "X-TEAM")
	must(err)
	expect(len(team.Metadata) == 1 && team.Metadata[0] == "web", "its metadata")
	sign(ctx, pdns, zone)
	_, err = pdns.Zones.Notify(ctx, zone)
	must(err)
	_, err = pdns.Zones.Export(ctx, zone)
	must(err)
	_, err = pdns.Servers.CacheFlush(ctx, "localhost", zone)
	must(err)
	must(pdns.Zones.Change(ctx, zone, &powerdns.Zone{Account: powerdns.String("terraform")}))
	found, err := pdns.Zones.Get(ctx, zone)
	must(err)
	expect(*found.Account == "terraform" && *found.Kind == powerdns.MasterZoneKind, "the zone's settings")
}

// The zone is signed, its key is found, and the zone is unsigned again.
func sign(ctx context.Context, pdns *powerdns.Client, zone string) {
	must(pdns.Zones.Change(ctx, zone, &powerdns.Zone{DNSsec: powerdns.Bool(true), Nsec3Param: powerdns.String("1 0 0 -")}))
	signed, err := pdns.Zones.Get(ctx, zone)
	must(err)
	expect(*signed.DNSsec && *signed.Nsec3Param == "1 0 0 -", "a signed zone")
	keys, err := pdns.Cryptokeys.List(ctx, zone)
	must(err)
	expect(len(keys) == 1 && *keys[0].Active && *keys[0].KeyType == "csk" && len(keys[0].DS) > 1, "one key that signs")
	key, err := pdns.Cryptokeys.Get(ctx, zone, *keys[0].ID)
	must(err)
	expect(*key.DNSkey == *keys[0].DNSkey, "the same key")
	must(pdns.Cryptokeys.Delete(ctx, zone, *key.ID))
	keys, err = pdns.Cryptokeys.List(ctx, zone)
	must(err)
	expect(len(keys) == 0, "no key any more")
}

// Terraform changes so many records at once; every change must succeed.
func changeInParallel(ctx context.Context, pdns *powerdns.Client, zone string) {
	var all sync.WaitGroup
	failed := make(chan error, parallel)
	for number := range parallel {
		all.Go(func() {
			name, address := fmt.Sprintf("host%d.%s", number, zone), fmt.Sprintf("192.0.2.%d", 100+number)
			failed <- pdns.Records.Change(ctx, zone, name, powerdns.RRTypeA, 60, []string{address})
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		must(err)
	}
}

func remove(ctx context.Context, pdns *powerdns.Client, zone string) {
	must(pdns.Zones.Delete(ctx, zone))
	_, err := pdns.Zones.Get(ctx, zone)
	expect(err != nil, "no zone any more")
}

func expect(holds bool, what string) {
	if !holds {
		log.Fatalf("not there: %s", what)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
