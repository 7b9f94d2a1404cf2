import NIOCore
import Testing

@testable import RedisClient

@Suite struct RedisURLTests {
    @Test(
        "an option without a name and an out-of-range number are errors",
        arguments: [
            "redis://h?=", "redis://h?=1", "redis://h?&=&", "redis://h:99999999999999999999",
            "redis://h:-1", "redis://h/9223372036854775808", "redis://h/-1",
            "redis://h/9007199254740992",
        ]
    )
    func hostileParts(_ text: String) {
        #expect(throws: RedisURLError.self) { try RedisURL(text) }
    }

    @Test("a URL names host, port, login and database")
    func network() throws {
        #expect(
            try RedisURL("redis://localhost")
                == RedisURL(
                    target: .server(.tcp(host: "localhost", port: 6379))
                )
        )
        #expect(
            try RedisURL("rediss://bob:s%3Aec%20ret@example.org:7000/3")
                == RedisURL(
                    target: .server(.tls(host: "example.org", port: 7000)),
                    login: RedisLogin(username: "bob", password: "s:ec ret"),
                    database: 3
                )
        )
        #expect(
            try RedisURL("REDIS://:pass@word@[::1]:6380/0")
                == RedisURL(
                    target: .server(.tcp(host: "::1", port: 6380)),
                    login: RedisLogin(password: "pass@word")
                )
        )
        #expect(
            try RedisURL("redis://")
                == RedisURL(target: .server(.tcp(host: "127.0.0.1", port: 6379)))
        )
    }

    @Test("a unix URL names a socket, login and database")
    func socket() throws {
        #expect(
            try RedisURL("unix:///run/redis%20a.sock?db=5")
                == RedisURL(
                    target: .server(.unix(path: "/run/redis a.sock")),
                    database: 5
                )
        )
        #expect(
            try RedisURL("unix://u:p@/r.sock")
                == RedisURL(
                    target: .server(.unix(path: "/r.sock")),
                    login: RedisLogin(username: "u", password: "p")
                )
        )
    }

    @Test("a Cluster URL names some nodes; a Sentinel URL names sentinels and a master")
    func severalServers() throws {
        #expect(
            try RedisURL("redis+cluster://u:p@a:7000,b,[::1]:7002,a:7000")
                == RedisURL(
                    target: .cluster([
                        .tcp(host: "a", port: 7000), .tcp(host: "b", port: 6379),
                        .tcp(host: "::1", port: 7002),
                    ]),
                    login: RedisLogin(username: "u", password: "p")
                )
        )
        let sentinels = [
            RedisEndpoint.tls(host: "a", port: 26_379), .tls(host: "b", port: 5000),
        ]
        let target = RedisURL.Target.sentinel(sentinels, master: "my master")
        #expect(
            try RedisURL("rediss+sentinel://:m%40@s:t@a,b:5000/my%20master/2?ca=/c%20a.pem")
                == RedisURL(
                    target: target,
                    login: RedisLogin(password: "m@"),
                    sentinelLogin: RedisLogin(username: "s", password: "t"),
                    database: 2,
                    tlsFiles: RedisTLSFiles(authorities: "/c a.pem")
                )
        )
        let sentinelsOnly = try RedisURL("rediss+sentinel://@s:t@a,b:5000/my%20master")
        #expect(sentinelsOnly.login == nil && sentinelsOnly.sentinelLogin?.password == "t")
        #expect(
            try RedisURL("rediss://h?ca=/a&cert=/c&key=/k").tlsFiles
                == RedisTLSFiles(authorities: "/a", certificate: "/c", key: "/k")
        )
    }

    @Test(
        "an invalid URL is rejected with a remedy and without its password",
        arguments: [
            "", "localhost", "http://localhost", "redis://:topsecret@h:0", "redis://h:65536",
            "redis://h:topsecret", "redis://h/x", "redis://h/-1", "redis://::1:6379",
            "redis://[::1", "redis://[::1]x", "redis://topsecret@h", "redis://:%zz@h",
            "redis://:topsecret%@h", "redis://:%ff@h", "redis://h?db=1", "redis://h#x", "unix://",
            "unix://host", "unix:///", "unix:///s?x=1", "unix:///s?db=topsecret",
            "redis://h:1,h:2", "redis+cluster://h:1,h:2/3", "redis+cluster://h:1,h:topsecret",
            "redis+sentinel://h:1", "redis+sentinel://h:1/", "redis+sentinel://h:1/name/x",
            "redis+sentinel://a:topsecret@b:c@d:e@h:1/name", "redis+other://h", "redisx://h",
            "redis://h?ca=/ca.pem", "rediss://h?x=/ca.pem", "rediss://h?ca=", "rediss://h?cert=/c",
            "rediss://h?ca=/a&ca=/b",
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
            "redis+cluster://:hunter2@a,b", "redis+sentinel://u:hunter2@s:hunter2@a,b/name",
            "redis+sentinel://@s:hunter2@a,b/name",
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

@Suite struct RedisValueTests {
    @Test("an error reply is split into its code and the rest")
    func errorReply() {
        let error = RedisReplyError(line: "LEASELOST 7 w{3}")
        #expect(error.code == "LEASELOST" && error.message == "7 w{3}")
        #expect(error.description == "LEASELOST 7 w{3}")
        #expect(RedisReplyError(line: "EMPTY") == RedisReplyError(code: "EMPTY", message: ""))
        #expect(RedisReplyError(line: "") == RedisReplyError(code: "", message: ""))
    }

    @Test("accessors convert only values of matching types")
    func accessors() {
        #expect(RedisValue.bulk(Array("17".utf8)).int == 17)
        #expect(RedisValue.integer(17).string == "17")
        #expect(RedisValue.simpleString("OK").string == "OK")
        #expect(RedisValue.bulk([0xff]).string == "\u{fffd}")
        #expect(RedisValue.array([.null]).array == [.null])
        #expect(
            RedisValue.null.isNull && RedisValue.null.string == nil && RedisValue.null.int == nil
        )
        #expect(RedisValue.bulk([1, 2]).bytes == [1, 2])
        #expect(RedisValue.integer(1).array == nil && RedisValue.integer(1).bytes == nil)
    }

    @Test("arguments are sent unchanged, with any content")
    func encoding() {
        let command = RedisCommand(
            "SET",
            ["k\r\n", .bytes([0, 255]), .buffer(ByteBuffer(string: "")), 42, "\(-7)", .int(.min)]
        )
        var buffer = ByteBuffer()
        #expect(command.encode(into: &buffer, bytesMax: 1_000))
        let expected =
            Array("*7\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$2\r\n".utf8) + [0, 255]
            + Array("\r\n$0\r\n\r\n$2\r\n42\r\n$2\r\n-7\r\n$20\r\n-9223372036854775808\r\n".utf8)
        #expect(Array(buffer.readableBytesView) == expected)
    }

    @Test("a command beyond the limit is rejected and appends nothing")
    func tooLong() {
        let command = RedisCommand("SET", ["k", .bytes([UInt8](repeating: 0, count: 1_000))])
        var buffer = ByteBuffer()
        #expect(!command.encode(into: &buffer, bytesMax: 1_000))
        #expect(buffer.readableBytes == 0)
    }

    @Test("describing a command shows no argument")
    func description() {
        let command = RedisCommand("AUTH", ["bob", "hunter2"])
        #expect("\(command)" == "AUTH (2 arguments)")
        #expect(!String(reflecting: command).contains("hunter2"))
    }
}
