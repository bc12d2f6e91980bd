// Terraform's own comparison of plans, with one resource like that of the PowerDNS provider: an RRset whose arguments
// all force a new one, so that any text that comes back otherwise is deleted and written again at every apply.
//
//	terraform-record URL KEY ZONE < {"name": ..., "type": ..., "ttl": ..., "records": [...]}
//
// It plans, applies, reads and plans again, and prints what the second plan would change: nothing where all is well.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/terraform"
)

type server struct{ url, key, zone string }

type record struct {
	Content  string `json:"content"`
	Disabled bool   `json:"disabled"`
}

type rrset struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	TTL        int      `json:"ttl,omitempty"`
	ChangeType string   `json:"changetype,omitempty"`
	Records    []record `json:"records"`
}

func main() {
	log.SetFlags(0)
	there := &server{os.Args[1], os.Args[2], os.Args[3]}
	wanted := map[string]interface{}{}
	must(json.NewDecoder(os.Stdin).Decode(&wanted))
	ctx, resource, config := context.Background(), resource(), terraform.NewResourceConfigRaw(wanted)
	plan, err := resource.Diff(ctx, nil, config, there)
	must(err)
	state, problems := resource.Apply(ctx, nil, plan, there)
	refuse(problems)
	state, problems = resource.RefreshWithoutUpgrade(ctx, state, there)
	refuse(problems)
	again, err := resource.Diff(ctx, state, config, there)
	must(err)
	if again == nil {
		return
	}
	for name, change := range again.Attributes {
		fmt.Printf("%s: %q -> %q\n", name, change.Old, change.New)
	}
}

func resource() *schema.Resource {
	text := func() *schema.Schema { return &schema.Schema{Type: schema.TypeString, Required: true, ForceNew: true} }
	return &schema.Resource{
		CreateContext: create,
		ReadContext:   read,
		DeleteContext: remove,
		Schema: map[string]*schema.Schema{
			"name": text(),
			"type": text(),
			"ttl":  {Type: schema.TypeInt, Required: true, ForceNew: true},
			"records": {
				Type: schema.TypeSet, Elem: &schema.Schema{Type: schema.TypeString}, Required: true, ForceNew: true,
			},
		},
	}
}

func create(ctx context.Context, data *schema.ResourceData, meta interface{}) diag.Diagnostics {
	wanted := rrset{data.Get("name").(string), data.Get("type").(string), data.Get("ttl").(int), "REPLACE", nil}
	for _, text := range data.Get("records").(*schema.Set).List() {
		wanted.Records = append(wanted.Records, record{Content: text.(string)})
	}
	if err := meta.(*server).patch(wanted); err != nil {
		return diag.FromErr(err)
	}
	data.SetId(wanted.Name + ":::" + wanted.Type)
	return read(ctx, data, meta)
}

func read(_ context.Context, data *schema.ResourceData, meta interface{}) diag.Diagnostics {
	var zone struct {
		RRsets []rrset `json:"rrsets"`
	}
	if err := meta.(*server).call("GET", nil, &zone); err != nil {
		return diag.FromErr(err)
	}
	texts, ttl := []string{}, 0
	for _, found := range zone.RRsets {
		if found.Name == data.Get("name").(string) && found.Type == data.Get("type").(string) {
			ttl = found.TTL
			for _, each := range found.Records {
				texts = append(texts, each.Content)
			}
		}
	}
	if err := data.Set("records", texts); err != nil {
		return diag.FromErr(err)
	}
	return diag.FromErr(data.Set("ttl", ttl))
}

func remove(_ context.Context, data *schema.ResourceData, meta interface{}) diag.Diagnostics {
	return diag.FromErr(meta.(*server).patch(
		rrset{Name: data.Get("name").(string), Type: data.Get("type").(string), ChangeType: "DELETE"}))
}

func (there *server) patch(change rrset) error {
	return there.call("PATCH", map[string][]rrset{"rrsets": {change}}, nil)
}

func (there *server) call(method string, body, answer interface{}) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, there.url+"/api/v1/servers/localhost/zones/"+there.zone, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", there.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}

func refuse(problems diag.Diagnostics) {
	for _, problem := range problems {
		log.Fatal(problem.Summary)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
