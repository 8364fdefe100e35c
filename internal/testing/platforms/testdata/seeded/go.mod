module example.org/seeded

go 1.26.0
