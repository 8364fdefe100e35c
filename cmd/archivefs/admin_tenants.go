package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/server"
)

func adminTenantsCommand() *cli.Command {
	const group = everyTenant
	return adminGroup(group, "whose archives the database keeps apart",
		administration{name: "list", usage: "a line for each tenant", do: listTenants}.command(group),
		administration{
			name: "add", usage: "add a tenant, whose archive is empty", operands: "CLOUD-ID [NAME]", least: 1, most: 2,
			description: "Clients can name a tenant by its CLOUD-ID, beside an API key of the tenant. The archive needs a\n" +
				"mandator before documents can be put in:\n\n" +
				"   archivefs admin tenants add muster 'Muster GmbH'\n" +
				"   archivefs admin mandators add --tenant muster Rechnungswesen\n" +
				"   archivefs admin keys add --tenant muster >keyfile",
			do: func(c *cli.Context, a *server.Admin) error {
				id, err := a.AddTenant(c.Context, c.Args().First(), c.Args().Get(1))
				if err != nil {
					return err
				}
				return printAdded(c, "tenant", id)
			},
		}.command(group))
}

// tenantJSON is a tenant as --json tells of it.
type tenantJSON struct {
	ID      int64  `json:"id"`
	CloudID string `json:"cloud-id,omitempty"`
	Name    string `json:"name,omitempty"`
}

func listTenants(c *cli.Context, a *server.Admin) error {
	tenants, err := a.Tenants(c.Context)
	if err != nil {
		return err
	}
	told, rows := make([]tenantJSON, 0, len(tenants)), [][]string{{"ID", "CLOUD-ID", "NAME"}}
	for _, t := range tenants {
		told = append(told, tenantJSON(t))
		rows = append(rows, []string{decimal(t.ID), orDash(t.CloudID), orDash(t.Name)})
	}
	if c.Bool("json") {
		return printJSON(c, told)
	}
	return printTable(c, rows...)
}
