package main

import (
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// credentials are what the options say about who calls the service.
type credentials struct{ apiKey, cloudID, user, password string }

// credentialFlags are the options of the credentials; use is what the command does with
// them.
func credentialFlags(use string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "api-key", EnvVars: env("API_KEY"), Usage: use + " the API key `KEY`"},
		&cli.StringFlag{Name: "api-key-file", EnvVars: env("API_KEY_FILE"), TakesFile: true, Usage: use + " the API key in `FILE`"},
		&cli.StringFlag{Name: "cloud-id", EnvVars: env("CLOUD_ID"), Usage: use + " the cloud identifier `ID` beside the API key"},
		&cli.StringFlag{Name: "user", EnvVars: env("USER"), Usage: use + " the user `NAME` and a password beside the API key"},
		&cli.StringFlag{Name: "password", EnvVars: env("PASSWORD"), Usage: use + " the password `PASSWORD`"},
		&cli.StringFlag{Name: "password-file", EnvVars: env("PASSWORD_FILE"), TakesFile: true, Usage: use + " the password in `FILE`"},
	}
}

// readCredentials gathers the credentials that the options name. Which sets go together is
// for the client, and for the service, to say.
func readCredentials(c *cli.Context) (credentials, error) {
	key, err := secret(c, "api-key")
	if err != nil {
		return credentials{}, err
	}
	password, err := secret(c, "password")
	if err != nil {
		return credentials{}, err
	}
	return credentials{apiKey: key, cloudID: c.String("cloud-id"), user: c.String("user"), password: password}, nil
}

// secret is the value of an option, or what stands in the file that its -file option names.
func secret(c *cli.Context, name string) (string, error) {
	if err := onlyOne(c, name); err != nil {
		return "", err
	}
	if file := c.String(name + "-file"); file != "" {
		return config.SecretFile(name+"-file", file)
	}
	return c.String(name), nil
}

// onlyOne refuses a secret that is given in two ways.
func onlyOne(c *cli.Context, name string) error {
	if c.String(name) != "" && c.String(name+"-file") != "" {
		return config.Usagef("--%s and --%s-file say the same: give one of them", name, name)
	}
	return nil
}
