module dnspanel.test/clients/go-powerdns

go 1.26

require github.com/joeig/go-powerdns/v3 v3.16.0
