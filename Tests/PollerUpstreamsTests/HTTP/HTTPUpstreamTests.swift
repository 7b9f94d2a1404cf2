import JSONText
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity
import PollerNet
import PollerPayments
import PollerQueue
import PollerUpstreams
import PollerWatches
import Testing

@Suite("Any JSON over HTTP as upstream")
struct HTTPUpstreamTests {
    private func source(
        _ server: StubServer,
        url: String? = nil,
        status: String = "/payment/state",
        timeout: Duration = .seconds(60)
    ) throws -> HTTPSource {
        try HTTPSource(
            name: AccountID("bank"),
            url: url ?? "http://127.0.0.1:\(server.port)/payments/{id}?full=1",
            status: JSONPointer(status),
            final: ["Settled", "rejected"],
            headers: [HTTPSource.Header("Authorization", "Bearer canary-1")],
            timeout: timeout,
            limit: .unlimited
        )
    }

    private func poll(
        _ source: HTTPSource,
        account: String = "bank",
        allowing: String = "127.0.0.0/8",
        resolver: any AddressResolver = SystemResolver(clock: ContinuousClock())
    ) async throws -> PollResult {
        let start = Timestamp(ms: 1_795_000_000_000)
        let upstream = HTTPUpstream(
            sources: [source],
            guarding: AddressGuard(allowing: try AddressRange.list(allowing)),
            resolver: resolver,
            wallClock: { start }
        )
        let result = await upstream.poll(try watch(account), timeout: .seconds(60))
        await upstream.close()
        return result
    }

    private func watch(_ account: String = "bank") throws -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(
                account: try AccountID(account),
                source: try SourceID("pay-1"),
                kind: .http
            ),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 0
        )
    }

    @Test("a poll requests the URL with the configured headers and reads the status at the pointer")
    func observed() async throws {
        try await StubServer.run { server in
            server.answer(#"{"payment":{"state":"Pending"}}"#)
            let result = try await poll(source(server))
            guard case .observed(let seen) = result else { return fail("\(result)") }
            #expect(seen.status.description == "Pending" && seen.rank == .pending)
            #expect(seen.object?.description == #"{"payment":{"state":"Pending"}}"#)
            let request = try #require(server.requests.first)
            #expect(request.uri == "/payments/pay-1?full=1")
            #expect(request.headers.first(name: "authorization") == "Bearer canary-1")
            #expect(request.headers.first(name: "host") == "127.0.0.1:\(server.port)")
        }
    }

    @Test("an upstream with other sources reuses the connections")
    func exchanged() async throws {
        try await StubServer.run { server in
            let first = HTTPUpstream(
                sources: [try source(server)],
                guarding: AddressGuard(allowing: try AddressRange.list("127.0.0.0/8")),
                resolver: SystemResolver(clock: ContinuousClock()),
                wallClock: { Timestamp(ms: 1_795_000_000_000) }
            )
            let second = first.reconfigured([try source(server, status: "/state")])
            for (upstream, body) in [
                (first, #"{"payment":{"state":"a"}}"#), (second, #"{"state":"b"}"#),
            ] {
                server.answer(body)
                let result = await upstream.poll(try watch(), timeout: .seconds(60))
                guard case .observed = result else {
                    Issue.record("\(body) was not understood")
                    continue
                }
            }
            #expect(server.requests.count == 2)
            await first.close()
            guard case .unavailable = await second.poll(try watch(), timeout: .seconds(60)) else {
                return fail("it has connections of its own")
            }
        }
    }

    @Test("credentials that a response repeats are redacted in the stored object")
    func echo() async throws {
        try await StubServer.run { server in
            let place = "http://bank/payments/pay-1?full=1&key=canary-key"
            server.answer(
                #"{"hdr":"Bearer canary-1","payment":{"state":"open","url":"\#(place)"}}"#
            )
            let url = "http://127.0.0.1:\(server.port)/payments/{id}?full=1&key=canary-key"
            guard case .observed(let seen) = try await poll(source(server, url: url)) else {
                return fail("not observed")
            }
            #expect(seen.status.description == "open")
            let kept = "http://bank/payments/pay-1?full=1&key=(redacted)"
            #expect(
                seen.object?.description
                    == #"{"hdr":"(redacted)","payment":{"state":"open","url":"\#(kept)"}}"#
            )
        }
    }

    @Test("the configured statuses are final regardless of case, and are spelled as configured")
    func final() async throws {
        try await StubServer.run { server in
            for (body, status, isFinal) in [
                (#"{"payment":{"state":"SETTLED"}}"#, "Settled", true),
                (#"{"payment":{"state":" settled\t"}}"#, "Settled", true),
                (#"{"payment":{"state":"Awaiting  Payment"}}"#, "Awaiting Payment", false),
                (#"{"payment":{"state":"a","state":"settled"}}"#, "Settled", true),
                (#"{"payment":{"state":3}}"#, "3", false),
                (#"{"payment":{"state":true}}"#, "true", false),
            ] {
                server.answer(body)
                guard case .observed(let seen) = try await poll(source(server)) else {
                    return fail("\(body) not observed")
                }
                #expect(seen.status.description == status && (seen.rank == .final) == isFinal)
            }
        }
    }

    @Test(
        "each HTTP status has its result class",
        arguments: [
            (401, "unauthorized"), (403, "unauthorized"), (404, "gone"), (410, "gone"),
            (429, "rate_limited"), (408, "unavailable"), (500, "unavailable"),
            (503, "unavailable"), (302, "malformed"), (400, "malformed"), (418, "malformed"),
        ]
    )
    func classes(status: Int, name: String) async throws {
        try await StubServer.run { server in
            let port = server.port
            server.answer(
                StubServer.Answer(
                    status: status,
                    headers: [("location", "http://127.0.0.1:\(port)/other"), ("retry-after", "7")]
                )
            )
            let result = try await poll(source(server))
            #expect(result.name == name)
            if status == 429 { #expect(result == .rateLimited(retryAfter: .seconds(7))) }
            #expect(server.requests.count == 1)
        }
    }

    @Test(
        "a response without a readable status is malformed",
        arguments: [
            "{", "[]", "{}", #"{"payment":{}}"#, #"{"payment":{"state":null}}"#,
            #"{"payment":{"state":{"a":1}}}"#, #"{"payment":{"state":"a\u0000b"}}"#,
            #"{"payment":{"state":"x"}} tail"#,
        ]
    )
    func malformed(body: String) async throws {
        try await StubServer.run { server in
            server.answer(body)
            let result = try await poll(source(server))
            #expect(result.name == "malformed")
        }
    }

    @Test("a response that is not JSON, is encoded or exceeds the limit is malformed")
    func notJSON() async throws {
        try await StubServer.run { server in
            let page = StubServer.Answer(headers: [("content-type", "text/html")], body: "<p>")
            server.answer(page)
            let result = try await poll(source(server))
            #expect(result.name == "malformed")
            let packed = StubServer.Answer(
                headers: [("content-type", "application/json"), ("content-encoding", "br")],
                body: #"{"payment":{"state":"paid"}}"#
            )
            server.answer(packed)
            guard case .malformed(let reason) = try await poll(source(server)) else {
                return fail("an encoded body was read")
            }
            #expect(reason.contains("encoded as br"))
            let accepted = server.requests.last?.headers.first(name: "accept-encoding")
            #expect(accepted == "identity")
            server.answer("\"" + String(repeating: "x", count: 1 << 20) + "\"")
            let large = try await poll(source(server))
            #expect(large.name == "malformed")
        }
    }

    @Test("a silent upstream is `unavailable` after its own timeout")
    func silence() async throws {
        try await StubServer.run { server in
            server.answer(StubServer.Answer(isSilent: true))
            let slow = try source(server, timeout: .milliseconds(200))
            #expect(try await poll(slow).name == "unavailable")
        }
    }

    @Test("a private address is connected only if the operator allows it, however it is spelled")
    func guarded() async throws {
        try await StubServer.run { server in
            let port = server.port
            for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001"] {
                let guarded = try source(server, url: "http://\(host):\(port)/{id}")
                let result = try await poll(guarded, allowing: "10.99.0.0/16")
                #expect(["malformed", "unavailable"].contains(result.name), "\(host): \(result)")
            }
            let rebound = try source(server, url: "http://pay.example:\(port)/{id}")
            let result = try await poll(
                rebound,
                allowing: "10.99.0.0/16",
                resolver: FixedResolver("127.0.0.1")
            )
            #expect(result.name == "malformed")
            #expect(server.requests.isEmpty)
            server.answer(#"{"payment":{"state":"x"}}"#)
            #expect(
                try await poll(rebound, resolver: FixedResolver("127.0.0.1")).name == "observed"
            )
            #expect(server.requests.first?.headers.first(name: "host") == "pay.example:\(port)")
        }
    }

    @Test("an unknown upstream name is reported as unserved with the reason")
    func unknown() async throws {
        try await StubServer.run { server in
            let result = try await poll(source(server), account: "other")
            guard case .unserved(let reason) = result else { return fail("\(result)") }
            #expect(reason.hasPrefix("this worker has no upstream other"))
        }
    }

    @Test("a final status that cannot match is rejected", arguments: [" ", "a\u{0}", "long"])
    func impossible(text: String) {
        let text = text == "long" ? String(repeating: "x", count: 65) : text
        let error = #expect(throws: InvalidInput.self) {
            try HTTPSource(
                name: .main,
                url: "https://bank.example/{id}",
                status: JSONPointer("/s"),
                final: ["settled", text],
                timeout: .seconds(1),
                limit: .unlimited
            )
        }
        #expect(error?.field == "final" && error?.message.contains("no response can match") == true)
    }

    @Test("a header never reveals its value, and an invalid header is rejected")
    func redacted() throws {
        let header = try HTTPSource.Header("Authorization", "Bearer canary-2")
        var dumped = ""
        dump(header, to: &dumped)
        #expect(!"\(header)\(String(reflecting: header))\(dumped)".contains("canary-2"))
        #expect(throws: InvalidInput.self) { try HTTPSource.Header("X-A", "a\r\nHost: b") }
        #expect(throws: InvalidInput.self) { try HTTPSource.Header("Host", "a") }
    }

    @Test(
        "a URL template in which the ID could choose the host is rejected",
        arguments: [
            "https://{id}.example.com/", "https://example.com/", "ftp://a/{id}", "https://a{id}/",
            "https://u@a.example/{id}", "https://a.example/{id}/{id}", "https://a.example/{name}",
            "https://a.example/{id}#x", "https://a%2e.example/{id}", "{id}",
        ]
    )
    func template(url: String) throws {
        #expect(throws: InvalidInput.self) {
            try HTTPSource(
                name: .main,
                url: url,
                status: JSONPointer("/s"),
                final: ["x"],
                timeout: .seconds(1),
                limit: .unlimited
            )
        }
    }
}

/// Resolves every name to one address.
struct FixedResolver: AddressResolver {
    let address: String

    init(_ address: String) {
        self.address = address
    }

    func addresses(host: String, port: Int) async throws(ResolutionFailure) -> [SocketAddress] {
        guard let found = try? SocketAddress(ipAddress: address, port: port) else {
            throw ResolutionFailure(reason: "no address")
        }
        return [found]
    }
}
