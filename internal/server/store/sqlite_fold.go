package store

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// connector opens connections with a driver of our own, in whose SQL fold can be called:
// a migration needs it.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

// connect returns a pool of connections that are made when they are needed.
func connect(dsn string) (*sql.DB, error) {
	d := &sqlite.Driver{}
	err := d.RegisterDeterministicScalarFunction("fold", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if text, ok := args[0].(string); ok {
			return fold(text), nil
		}
		return args[0], nil
	})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{d, dsn}), nil
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }
