import Testing

@testable import PollerHTTP

/// Tests of invalid heads.
extension HostileServerTests {
    @Test(
        "invalid heads with one possible meaning are accepted (RFC 9112 §2.2, §5.1, §5.2, §6.3)",
        arguments: [
            head("200 OK", "a: b", " c", "\tcontent-length: 9", "content-length: 2") + "ok",
            head("200 OK", "content-length: 2", "Content-Length:  2 ") + "ok",
            head("200 OK", "content-length: 2, 2") + "ok",
            head("200 OK", "x-powered-by : PHP", "content-length\t: 2") + "ok",
            "HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
            "HTTP/1.1 103 Early Hints\r\na: b\r\n c\r\n\r\n" + ok,
            "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
        ]
    )
    func oddHead(bytes: String) async throws {
        let (first, second, count) = try await twice([.send(bytes)])
        #expect(first == "200 ok" && second == "200 ok", "\(first), \(second)")
        #expect(count == 1)
    }

    @Test("an invalid but unambiguous head that arrives byte by byte is accepted")
    func drippedHead() async throws {
        let bytes = "HTTP/1.1 200 OK\r\na: b\r\n c\r\ncontent-length: 2\r\n\r\nok"
        let (first, second, count) = try await twice([.drip(bytes, everyMs: 1)])
        #expect(first == "200 ok" && second == "200 ok", "\(first), \(second)")
        #expect(count == 1)
    }

    @Test(
        "the status of a malformed head with a complete status line is used",
        arguments: [
            head("200 OK", "content-length: 2", "transfer-encoding: chunked")
                + "2\r\nok\r\n0\r\n\r\n",
            head("200 OK", "transfer-encoding: chunked", "content-length: 2")
                + "2\r\nok\r\n0\r\n\r\n",
            head("200 OK", "content-length: 2", "content-length: 3") + "ok",
            head("200 OK", "content-length: 2, 3") + "ok",
            head("200 OK", "content-length: -2") + "ok",
            head("200 OK", "content-length: 99999999999999999999999") + "ok",
            head("200 OK", " bad: fold"),
            head("200 OK", ": nameless", "content-length: 0"),
            head("200 OK", "no colon"),
            head("103 Early Hints", "link: a") + head("200 OK", "no colon"),
        ]
    )
    func brokenHead(bytes: String) async throws {
        let (first, second, count) = try await twice([.send(bytes)])
        #expect(first == "cut 200 notHTTP" && second == "cut 200 notHTTP", "\(first), \(second)")
        #expect(count == 2)
    }

    @Test("an incomplete status line, or that of a 1xx, is ignored")
    func cutStatusLine() async throws {
        for bytes in [
            "HTTP/1.1 200 OK", "HTTP/1.1 20", "HTTP/1.1 100 Continue\r\nno colon\r\n\r\n",
        ] {
            let (first, _, _) = try await twice([.send(bytes), .pause(ms: 20), .close])
            #expect(["closed", "notHTTP"].contains(first), "\(bytes): \(first)")
        }
    }
}
