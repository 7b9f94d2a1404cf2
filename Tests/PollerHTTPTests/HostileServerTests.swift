import NIOCore
import NIOHTTP1
import Testing

@testable import PollerHTTP

@Suite("Hostile servers")
struct HostileServerTests {
    typealias Step = ScriptedServer.Step

    /// A result as text: the status, or the failure; preceded by `cut` if a head had arrived.
    func word(_ result: HTTPResult?) -> String {
        switch result?.outcome {
        case nil: "closed client"
        case .answered(let reply): "\(reply.status) \(String(buffer: reply.body).prefix(20))"
        case .cutShort(let reply, let failure): "cut \(reply.status) \(name(failure))"
        case .failed(let failure): name(failure)
        }
    }

    private func name(_ failure: HTTPFailure) -> String {
        "\(failure)".prefix { $0 != "(" }.description
    }

    /// Sends two GET requests to a server that performs `steps` for each; returns the results and
    /// the number of connections.
    func twice(
        _ steps: [Step],
        bodyBytesMax: Int = 1 << 20
    ) async throws -> (first: String, second: String, connections: Int) {
        var words: [String] = []
        var connections = 0
        try await ScriptedServer.run(steps) { server in
            let client = PooledClient()
            for _ in 0..<2 { words.append(word(await client.get("/", server))) }
            await client.close()
            connections = server.connections
        }
        return (words[0], words[1], connections)
    }

    /// Returns a status line, fields and a blank line.
    static func head(_ status: String, _ fields: String...) -> String {
        "HTTP/1.1 \(status)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    static let ok = head("200 OK", "content-length: 2") + "ok"

    @Test(
        "complete responses, and whether their connection is reused",
        arguments: [
            (ok, "200 ok", 1),
            (head("200 OK", "content-length: 2", "connection: close") + "ok", "200 ok", 2),
            ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "200 ok", 2),
            (head("204 No", "content-length: 9"), "204 ", 1),
            (head("304 No", "content-length: 9"), "304 ", 1),
            (head("200 OK", "transfer-encoding: chunked") + "2\r\nok\r\n0\r\n\r\n", "200 ok", 1),
            (
                head("200 OK", "transfer-encoding: chunked")
                    + "1;a=b\r\no\r\n1\r\nk\r\n0\r\nx: y\r\n\r\n",
                "200 ok", 1
            ),
            (head("100 Continue") + head("103 Early Hints", "link: a") + ok, "200 ok", 1),
            // Bytes after a response: another one, the beginning of one, and garbage.
            (ok + head("200 OK", "content-length: 4") + "evil", "200 ok", 2),
            (ok + "HTTP/1.1 200 OK\r\nx: ", "200 ok", 2),
            (ok + "H", "200 ok", 2),
            (ok + "garbage", "200 ok", 2),
            (head("204 No", "content-length: 9") + "nine-more", "204 ", 2),
        ]
    )
    func whole(bytes: String, wanted: String, connections: Int) async throws {
        let (first, second, count) = try await twice([.send(bytes)])
        #expect(first == wanted && second == wanted, "\(first), \(second)")
        #expect(count == connections)
    }

    @Test(
        "malformed responses are rejected",
        arguments: [
            head("101 Switching Protocols", "upgrade: x", "connection: upgrade"),
            head("2000 OK"),
            "HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
            "SSH-2.0-OpenSSH_9.6\r\n",
            "garbage",
            "\u{0}\u{0}\u{6}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}",
            "GET / HTTP/1.1\r\nhost: you\r\n\r\n",
        ]
    )
    func malformed(bytes: String) async throws {
        let (first, second, count) = try await twice([.send(bytes)])
        #expect(first == "notHTTP" && second == "notHTTP", "\(first), \(second)")
        #expect(count == 2)
    }

    @Test(
        "chunks of a wrong size cut a response short",
        arguments: [
            "g\r\nok\r\n0\r\n\r\n", "-1\r\nok\r\n", "2\r\nokay\r\n0\r\n\r\n",
            "fffffffffffffffff\r\n",
        ]
    )
    func chunks(bytes: String) async throws {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        let (first, _, count) = try await twice([.send(head + bytes)])
        #expect(first == "cut 200 notHTTP", "\(first)")
        #expect(count == 2)
    }

    @Test("connections that end before, during and after a response")
    func ends() async throws {
        let cases: [([Step], String)] = [
            ([.close], "closed"),
            ([.reset], "reset"),
            ([.send("HTTP/1.1 200 OK\r\ncontent"), .close], "cut 200 closed"),
            (
                [.send("HTTP/1.1 200 OK\r\na: b\r\n c\r\n"), .pause(ms: 50), .reset],
                "cut 200 reset"
            ),
            (
                [.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), .close],
                "cut 200 closed"
            ),
            (
                [
                    .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n"),
                    .close,
                ],
                "cut 200 closed"
            ),
            // Without a length, the response ends with the connection: RFC 9112 §6.3.
            ([.send("HTTP/1.1 200 OK\r\n\r\nuntil the end"), .close], "200 until the end"),
            (
                [.send("HTTP/1.1 200 OK\r\n\r\nuntil"), .pause(ms: 20), .send("!"), .close],
                "200 until!"
            ),
            (
                [.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), .close],
                "200 ok"
            ),
        ]
        for (steps, wanted) in cases {
            let (first, second, count) = try await twice(steps)
            #expect(first == wanted && second == wanted, "\(steps): \(first), \(second)")
            #expect(count == 2, "\(steps)")
        }
    }

    @Test("endless heads, status lines, 1xx responses, extensions and trailers are cut off")
    func floods() async throws {
        let kilobyte = String(repeating: "x", count: 1024)
        let floods: [(String, [Step])] = [
            ("a field", [.send("HTTP/1.1 200 OK\r\na: "), .flood(kilobyte)]),
            ("fields", [.send("HTTP/1.1 200 OK\r\n"), .flood("a: \(kilobyte)\r\n")]),
            ("a name", [.send("HTTP/1.1 200 OK\r\n"), .flood(kilobyte)]),
            ("a status line", [.send("HTTP/1.1 200 "), .flood(kilobyte)]),
            ("1xx", [.flood("HTTP/1.1 100 Continue\r\na: \(kilobyte)\r\n\r\n")]),
            (
                "an extension",
                [
                    .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;"),
                    .flood(kilobyte),
                ]
            ),
            (
                "trailers",
                [
                    .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"),
                    .flood("a: \(kilobyte)\r\n"),
                ]
            ),
            ("empty lines", [.flood("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n")]),
        ]
        for (name, steps) in floods {
            try await ScriptedServer.run(steps) { server in
                let client = PooledClient()
                let result = word(await client.get("/", server))
                #expect(result.hasSuffix("notHTTP"), "\(name): \(result)")
                try await eventually { server.ended == 1 }
                await client.close()
            }
        }
    }

    @Test("endless bodies are cut off at the limit, and too long announced ones at the head")
    func bodies() async throws {
        let megabyte = 1 << 20
        let kilobyte = String(repeating: "x", count: 1024)
        let cases: [([Step], String)] = [
            (
                [.send("HTTP/1.1 200 OK\r\ncontent-length: \(1 << 30)\r\n\r\n"), .flood(kilobyte)],
                "tooLarge"
            ),
            ([.send("HTTP/1.1 200 OK\r\n\r\n"), .flood(kilobyte)], "cut 200 tooLarge"),
            (
                [
                    .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
                    .flood("400\r\n\(kilobyte)\r\n"),
                ],
                "cut 200 tooLarge"
            ),
        ]
        for (steps, wanted) in cases {
            try await ScriptedServer.run(steps) { server in
                let client = PooledClient()
                let result = await client.get("/", server)
                #expect(word(result) == wanted)
                if case .cutShort(let reply, _)? = result?.outcome {
                    #expect(reply.body.readableBytes == megabyte)
                }
                try await eventually { server.ended == 1 }
                await client.close()
            }
        }
    }

    @Test("unsolicited bytes are never taken as a response")
    func unsolicited() async throws {
        let evil = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"
        let good = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"
        // Between two requests, some time after the first response.
        try await ScriptedServer.run { request in
            request.connection == 1 ? [.send(good), .pause(ms: 50), .send(evil)] : [.send(good)]
        } _: { server in
            let client = PooledClient()
            #expect(word(await client.get("/", server)) == "200 good")
            try await eventually { server.ended == 1 }
            #expect(word(await client.get("/", server)) == "200 good")
            await client.close()
            #expect(server.connections == 2)
        }
    }

    @Test("a response before the request was sent is used, and closes the connection")
    func early() async throws {
        let refusal = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"
        let body = String(repeating: "x", count: 8 << 20)
        try await ScriptedServer.run(onAccept: []) { _ in
            [.send(refusal), .pause(ms: 50), .close]
        } _: { server in
            let client = PooledClient()
            #expect(word(await client.post("/", body, server)) == "413 no")
            try await eventually { server.ended == 1 }
            await client.close()
        }
    }

    @Test("a GET is repeated when its reused connection is dead; a POST is not")
    func race() async throws {
        let good = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"
        for end in [Step.close, .reset] {
            for isPost in [false, true] {
                try await ScriptedServer.run { request in
                    // The connection is dead when its second request is sent.
                    request.request == 1 ? [.send(good)] : [end]
                } _: { server in
                    let client = PooledClient()
                    #expect(word(await client.get("/", server)) == "200 good")
                    let second =
                        isPost
                        ? await client.post("/", "", server) : await client.get("/", server)
                    if isPost {
                        #expect(["closed", "reset"].contains(word(second)))
                    } else {
                        #expect(word(second) == "200 good")
                    }
                    #expect(server.connections == (isPost ? 1 : 2))
                    await client.close()
                }
            }
        }
        // A new connection that closes is not retried.
        try await ScriptedServer.run { request in
            request.connection == 1 && request.request == 1 ? [.send(good)] : [.close]
        } _: { server in
            let client = PooledClient()
            #expect(word(await client.get("/", server)) == "200 good")
            #expect(word(await client.get("/", server)) == "closed")
            #expect(server.connections == 2)
            await client.close()
        }
        // A request is not retried after a byte of its response.
        try await ScriptedServer.run { request in
            request.request == 1 ? [.send(good)] : [.send("H"), .close]
        } _: { server in
            let client = PooledClient()
            #expect(word(await client.get("/", server)) == "200 good")
            #expect(word(await client.get("/", server)) == "closed")
            #expect(server.connections == 1)
            await client.close()
        }
    }
}
