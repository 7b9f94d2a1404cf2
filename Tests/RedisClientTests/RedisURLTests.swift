import RedisClient
import Testing

@Suite struct RedisURLTests {
    @Test("a URL names host, port, login and database")
    func network() throws {
        #expect(
            try RedisURL("redis://localhost")
                == RedisURL(
                    transport: .tcp(host: "localhost", port: 6379)
                )
        )
        #expect(
            try RedisURL("rediss://bob:s%3Aec%20ret@example.org:7000/3")
                == RedisURL(
                    transport: .tls(host: "example.org", port: 7000),
                    username: "bob",
                    password: "s:ec ret",
                    database: 3
                )
        )
        #expect(
            try RedisURL("REDIS://:pass@word@[::1]:6380/0")
                == RedisURL(transport: .tcp(host: "::1", port: 6380), password: "pass@word")
        )
        #expect(
            try RedisURL("redis://") == RedisURL(transport: .tcp(host: "127.0.0.1", port: 6379))
        )
    }

    @Test("a unix URL names a socket, login and database")
    func socket() throws {
        #expect(
            try RedisURL("unix:///run/redis%20a.sock?db=5")
                == RedisURL(
                    transport: .unix(path: "/run/redis a.sock"),
                    database: 5
                )
        )
        #expect(
            try RedisURL("unix://u:p@/r.sock")
                == RedisURL(
                    transport: .unix(path: "/r.sock"),
                    username: "u",
                    password: "p"
                )
        )
    }

    @Test(
        "a bad URL is refused with advice and without its password",
        arguments: [
            "", "localhost", "http://localhost", "redis://:topsecret@h:0", "redis://h:65536",
            "redis://h:topsecret", "redis://h/x", "redis://h/-1", "redis://::1:6379",
            "redis://[::1", "redis://[::1]x", "redis://topsecret@h", "redis://:%zz@h",
            "redis://:topsecret%@h", "redis://:%ff@h", "redis://h?db=1", "redis://h#x", "unix://",
            "unix://host", "unix:///", "unix:///s?x=1", "unix:///s?db=topsecret",
            "redis+cluster://h:1,h:2", "redis+sentinel://h:1/name",
            "unix:///" + String(repeating: "p", count: 104),
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: RedisURLError.self) { try RedisURL(text) }
        #expect(error?.description.contains("topsecret") == false)
        #expect((error?.description.count ?? 0) > 20)
    }

    @Test("no description reveals the password")
    func redacted() throws {
        for text in [
            "redis://u:hunter2@h:1/2", "rediss://:hunter2@[::1]", "unix://:hunter2@/s?db=1",
        ] {
            let url = try RedisURL(text)
            var dumped = ""
            dump(url, to: &dumped)
            for shown in ["\(url)", String(reflecting: url), dumped] {
                #expect(!shown.contains("hunter2") && shown.contains("***"), "\(shown)")
            }
        }
    }
}
