package main

import "github.com/urfave/cli/v2"

func adminCommand() *cli.Command {
	return &cli.Command{
		Name:            "admin",
		Usage:           "look after the archive of the embedded service",
		HideHelpCommand: true, // arrange knows help
		OnUsageError:    usageError,
		Action:          chooseCommand("admin"),
		Subcommands: []*cli.Command{
			adminTenantsCommand(), adminMandatorsCommand(), adminInboxesCommand(), adminUsersCommand(), adminKeysCommand(),
			adminAutoExportCommand(), adminVerifyCommand(), adminBackupCommand(), adminRestoreCommand(), adminStatsCommand(),
		},
	}
}
