import NIOCore
import NIOHTTP1
import NIOSSL
import PollerTesting
import Testing

@testable import PollerHTTP

@Suite("TLS")
struct TLSTests {
    private static let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

    /// Runs a server with a certificate for `name`, and a client that trusts it if `isTrusted`;
    /// `protocols` are those that the server offers by ALPN.
    private func run(
        _ name: String = "pay.example.test",
        protocols: [String] = ["http/1.1"],
        isTrusted: Bool = true,
        _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step],
        _ body: (PooledClient, ScriptedServer) async throws -> Void
    ) async throws {
        let pair = try SelfSigned(name: name)
        defer { pair.remove() }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(pair.certificate)
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: pair.key, format: .pem))
        )
        configuration.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: configuration)
        try await ScriptedServer.run(tls: context, script) { server in
            let client = PooledClient(trustRoots: isTrusted ? .file(pair.certificate) : .default)
            try await body(client, server)
            await client.close()
        }
    }

    private func get(
        _ client: PooledClient,
        _ server: ScriptedServer,
        host: String = "pay.example.test",
        timeoutMs: Int64 = 60_000
    ) async throws -> HTTPResult? {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: server.port)
        let origin = HTTPOrigin(isSecure: true, host: host, port: server.port)
        return await client.get("/", origin, [address], timeoutMs: timeoutMs)
    }

    @Test("the name is verified, the approved address is used, and the connection is reused")
    func proved() async throws {
        try await run { _ in
            [.send(Self.answer)]
        } _: { client, server in
            for _ in 0..<3 {
                let reply = try await get(client, server).answered()
                #expect(String(buffer: reply.body) == "ok")
            }
            #expect(server.connections == 1)
            #expect(server.requests[0].text.contains("host: pay.example.test:\(server.port)\r\n"))
        }
    }

    @Test("with a certificate for another name or of an unknown authority, no request is sent")
    func unproved() async throws {
        try await run("other.example.test") { _ in
            [.send(Self.answer)]
        } _: { client, server in
            guard case .tls? = try await get(client, server)?.failure else {
                return #expect(Bool(false), "another name")
            }
            #expect(server.requests.isEmpty)
        }
        try await run(isTrusted: false) { _ in
            [.send(Self.answer)]
        } _: { client, server in
            guard case .tls? = try await get(client, server)?.failure else {
                return #expect(Bool(false), "unknown authority")
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test("an added authority is trusted in addition to those of the machine")
    func added() async throws {
        let pair = try SelfSigned(name: "pay.example.test")
        defer { pair.remove() }
        let certificates = try NIOSSLCertificate.fromPEMFile(pair.certificate)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: certificates.map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: pair.key, format: .pem))
            )
        )
        try await ScriptedServer.run([.send(Self.answer)], tls: context) { server in
            let client = PooledClient(authorities: certificates)
            let reply = try await get(client, server).answered()
            #expect(String(buffer: reply.body) == "ok")
            await client.close()
        }
    }

    @Test("a certificate error contains no source paths of the build machine")
    func words() async throws {
        try await run(isTrusted: false) { _ in
            [.send(Self.answer)]
        } _: { client, server in
            guard case .tls(let words)? = try await get(client, server)?.failure else {
                return #expect(Bool(false), "unknown authority")
            }
            #expect(words.contains("CERTIFICATE_VERIFY_FAILED"))
            #expect(!words.contains("/") && !words.contains(".cc"))
        }
    }

    @Test("a server that supports only HTTP/2 causes a failure that says so")
    func onlyHTTP2() async throws {
        try await run(protocols: ["h2"]) { _ in
            // An HTTP/2 SETTINGS frame, sent whatever was negotiated.
            [.send("\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}")]
        } _: { client, server in
            switch try await get(client, server)?.failure {
            case .tls?, .notHTTP?: break
            case let other: Issue.record("\(String(describing: other))")
            }
        }
    }

    @Test("without a close notification, a response is cut short unless it had a length")
    func truncated() async throws {
        let open = "HTTP/1.1 200 OK\r\n\r\nuntil the end"
        for (steps, isWhole) in [
            ([ScriptedServer.Step.send(open), .close], true),
            ([.send(open), .pause(ms: 20), .cut], false),
            (
                [.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), .pause(ms: 20), .cut],
                false
            ),
            ([.send(Self.answer), .cut], true),
        ] {
            try await run { _ in
                steps
            } _: { client, server in
                let result = try await get(client, server)
                switch result?.outcome {
                case .answered?: #expect(isWhole, "\(steps)")
                case .cutShort(_, .closed)?: #expect(!isWhole, "\(steps)")
                default: Issue.record("\(steps): \(String(describing: result))")
                }
            }
        }
    }

    @Test("a request is repeated if its connection was cut without notification")
    func race() async throws {
        try await run { request in
            request.request == 1 ? [.send(Self.answer)] : [.cut]
        } _: { client, server in
            for _ in 0..<2 { _ = try await get(client, server).answered() }
            #expect(server.connections == 2)
        }
    }

    @Test("a server that never completes the handshake causes a timeout")
    func silent() async throws {
        try await ScriptedServer.run([]) { server in
            var limits = ConnectionLimits()
            limits.openMs = 2000
            let client = PooledClient(limits: limits)
            let late = try await get(client, server, timeoutMs: 100)
            #expect(late?.failure == .deadline)
            let given = try await get(client, server)
            #expect(given?.failure == .handshakeTimeout)
            try await eventually { server.ended == server.connections }
            await client.close()
        }
    }
}
