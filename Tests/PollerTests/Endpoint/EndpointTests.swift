import Foundation
import PollerIdentity
import PollerPayments
import PollerTesting
import PollerWatches
import Testing

@testable import PollerDeliveries

@Suite("Endpoint")
struct EndpointTests {
    static func endpoint(
        _ host: String = "a",
        account: String = "acct_a",
        scope: EndpointScope = .everything,
        createdAt: Timestamp = Timestamp(ms: 0)
    ) throws -> Endpoint {
        var generator = SeededGenerator(seed: UInt64(host.utf8.reduce(7) { $0 * 31 + Int($1) }))
        var endpoint = Endpoint(
            id: EndpointID(unchecked: "ep_\(host)"),
            account: AccountID(unchecked: account),
            url: try NotifyURL("https://\(host).example/hook"),
            secrets: [EndpointSecret(WebhookSecret(using: &generator))],
            createdAt: createdAt
        )
        endpoint.scope = scope
        return endpoint
    }

    static func event(
        _ status: String = "pending",
        source: String = "src_1",
        account: String = "acct_a",
        final: Bool = false,
        closed: ClosedReason? = nil,
        polledAt: Timestamp = VirtualTime.start
    ) -> Event {
        Event(
            Watch(
                Sample.key(source, account: account),
                createdAt: VirtualTime.start,
                deadline: VirtualTime.start + .seconds(60)
            ),
            status: SourceStatus(unchecked: status),
            final: final,
            closed: closed,
            polledAt: polledAt
        )
    }

    @Test("an endpoint receives events of its account that match its types, sources and finality")
    func scope() throws {
        func subscribes(_ scope: EndpointScope, _ event: Event) throws -> Bool {
            try Self.endpoint(scope: scope).subscribes(to: event)
        }
        let pending = Self.event()
        let settled = Self.event("consumed", final: true)
        let expired = Self.event(closed: .expired)
        #expect(try subscribes(.everything, pending))
        #expect(try !subscribes(.everything, Self.event(account: "acct_b")))
        let types = try EndpointScope(types: ["source.chargeable", "watch.*"])
        #expect(try !subscribes(types, pending))
        #expect(try subscribes(types, Self.event("chargeable")))
        #expect(try subscribes(types, expired))
        #expect(try subscribes(EndpointScope(types: ["source.*"]), pending))
        #expect(try !subscribes(EndpointScope(types: ["source.pend"]), pending))
        for type in [
            "payment.*", "payment.paid", "next_step.changed", "order.*", "order.paid_twice",
        ] {
            #expect(try !subscribes(EndpointScope(types: [type]), pending))
        }
        let sources = try EndpointScope(sources: ["src_2", "src_1"])
        #expect(try subscribes(sources, pending))
        #expect(try !subscribes(sources, Self.event(source: "src_3")))
        let ends = try EndpointScope(finalOnly: true)
        #expect(try !subscribes(ends, pending))
        #expect(try subscribes(ends, settled))
        #expect(try subscribes(ends, expired))
    }

    @Test("an endpoint receives no event observed before it was created")
    func past() throws {
        let event = Self.event()
        #expect(try Self.endpoint(createdAt: event.polledAt).subscribes(to: event))
        let later = event.polledAt + .milliseconds(1)
        #expect(try !Self.endpoint(createdAt: later).subscribes(to: event))
    }

    @Test("a metadata filter matches a watch that has all its entries")
    func metadata() throws {
        let scope = try EndpointScope(metadata: ["shop": "berlin", "tier": "1"])
        #expect(scope.admits(metadata: #"{"tier":"1","shop":"berlin","order":"9"}"#))
        for text in [#"{"shop":"berlin"}"#, #"{"shop":"Berlin","tier":"1"}"#, "", "[]", "{"] {
            #expect(!scope.admits(metadata: text), "\(text)")
        }
        #expect(EndpointScope.everything.admits(metadata: ""))
    }

    @Test(
        "a scope that can never match is rejected",
        arguments: [
            ["chargeable"], ["source"], [""], ["*"], ["source.*.x"], ["source.Ä"], ["payments.*"],
            ["source.\nx"], Array(repeating: "source.*", count: 51),
        ]
    )
    func badTypes(_ types: [String]) {
        #expect(throws: InvalidInput.self) { try EndpointScope(types: types) }
    }

    @Test("headers that are reserved, invalid or contain line breaks are rejected")
    func headers() throws {
        let bad = [
            ("Host", "a"), ("content-LENGTH", "1"), ("Webhook-Id", "a"), ("Connection", "close"),
            ("Transfer-Encoding", "chunked"), ("Proxy-Authorization", "x"), ("", "a"),
            ("X Y", "a"), ("X-A", "a\r\nX-B: b"), ("X-A", "a\n"), ("X-A", "\u{0}"), ("X-A", "ä"),
            ("X:A", "a"), (String(repeating: "X", count: 65), "a"),
            ("X-A", String(repeating: "a", count: 2049)),
        ]
        for (name, value) in bad {
            #expect(throws: InvalidInput.self, "\(name)") { try EndpointHeader(name, value) }
        }
        let header = try EndpointHeader("Authorization", "Bearer canary")
        #expect(!"\(header)".contains("canary"))
        #expect(!String(reflecting: header).contains("canary"))
        let twice = [header, try EndpointHeader("authorization", "x")]
        #expect(throws: InvalidInput.self) { try EndpointHeader.check(twice) }
    }

    @Test("the description of an endpoint contains no secrets")
    func redacted() throws {
        var endpoint = try Self.endpoint()
        endpoint.headers = [try EndpointHeader("X-Key", "canary")]
        let secret = try #require(endpoint.secrets.first?.secret.reveal)
        for text in ["\(endpoint)", String(reflecting: endpoint), "\(endpoint.secrets)"] {
            #expect(!text.contains(secret) && !text.contains("canary"))
        }
    }

    @Test("a rotation puts the new secret first, and old secrets sign until their overlap ends")
    func rotation() throws {
        var generator = SeededGenerator(seed: 1)
        let secrets = (0..<4).map { _ in WebhookSecret(using: &generator) }
        let now = VirtualTime.start
        var endpoint = try Self.endpoint()
        endpoint.secrets = [EndpointSecret(secrets[0])]
        try endpoint.rotate(to: secrets[1], overlap: .seconds(60), at: now)
        #expect(endpoint.secrets(at: now) == [secrets[1], secrets[0]])
        #expect(endpoint.secrets(at: now + .seconds(60)) == [secrets[1]])
        // A later rotation with a longer overlap does not extend the first secret's life.
        try endpoint.rotate(to: secrets[2], overlap: .seconds(600), at: now + .seconds(1))
        #expect(endpoint.secrets(at: now + .seconds(59)) == [secrets[2], secrets[1], secrets[0]])
        #expect(endpoint.secrets(at: now + .seconds(60)) == [secrets[2], secrets[1]])
        // A fourth secret would end one before the end of its overlap.
        let full = endpoint
        let refusal = #expect(throws: InvalidInput.self) {
            try endpoint.rotate(to: secrets[3], overlap: .seconds(600), at: now + .seconds(2))
        }
        #expect(refusal?.message.contains("until \(now + .seconds(60))") == true)
        #expect(endpoint == full)
        var later = full
        try later.rotate(to: secrets[3], overlap: .seconds(600), at: now + .seconds(60))
        #expect(later.secrets.map(\.secret) == [secrets[3], secrets[2], secrets[1]])
        try endpoint.rotate(to: secrets[0], overlap: .zero, at: now + .seconds(3))
        #expect(endpoint.secrets.map(\.secret) == [secrets[0]])
    }

    @Test("repeating a rotation creates no second secret")
    func repeatedRotation() throws {
        var generator = SeededGenerator(seed: 2)
        var endpoint = try Self.endpoint()
        for _ in 0..<2 {
            let secret = WebhookSecret(using: &generator)
            try endpoint.rotate(
                to: secret,
                overlap: .seconds(9),
                request: "k",
                at: VirtualTime.start
            )
        }
        #expect(endpoint.secrets.count == 2)
    }

    @Test("a disabled endpoint collects events for one day")
    func collects() throws {
        var endpoint = try Self.endpoint()
        let now = VirtualTime.start
        #expect(endpoint.collectsUntil == nil)
        endpoint.state = .disabled(reason: "x", at: now)
        #expect(endpoint.collectsUntil == now + .seconds(86_400))
    }

    @Test("a retry schedule is the channel's, `fast`, `none`, or custom within the limits")
    func retries() throws {
        let standard = RetrySchedule.webhook
        #expect(RetryChoice.standard.schedule(standard: standard) == standard)
        #expect(try RetryChoice(named: "none").schedule(standard: standard).waits.isEmpty)
        let fast = try RetryChoice(named: "fast").schedule(standard: standard).waits
        #expect(fast == [1, 2, 5, 10, 30, 60, 120, 300].map { .seconds($0) })
        let own = try RetryChoice(waits: [.seconds(3), .seconds(4)])
        #expect(own.schedule(standard: standard).waits == [.seconds(3), .seconds(4)])
        for waits in [
            [], [.milliseconds(999)], Array(repeating: .seconds(1), count: 21),
            [RetryChoice.spanMax, .seconds(1)],
        ] as [[Duration]] {
            #expect(throws: InvalidInput.self) { try RetryChoice(waits: waits) }
        }
        // The last attempt of the longest schedule still finds the whole event.
        let longest = try RetryChoice(waits: [.seconds(80 * 3600)]).schedule(standard: standard)
        #expect(longest.span <= RetentionSpans.deliveryMax)
        #expect(standard.span <= RetentionSpans.deliveryMax)
        #expect(throws: InvalidInput.self) { try RetryChoice(named: "often") }
    }

    @Test("contradictory endpoint settings are rejected")
    func wholes() throws {
        var slow = try Self.endpoint()
        slow.timeout = .seconds(31)
        #expect(throws: InvalidInput.self) { try slow.check() }
        slow.timeout = .seconds(30)
        try slow.check()
        slow.secrets = []
        #expect(throws: InvalidInput.self) { try slow.check() }
        var mail = try Self.endpoint()
        mail.url = try NotifyURL("mailto:a@b.example")
        mail.headers = [try EndpointHeader("X-A", "1")]
        #expect(throws: InvalidInput.self) { try mail.check() }
        mail.headers = []
        try mail.check()
        mail.timeout = .seconds(5)
        #expect(throws: InvalidInput.self) { try mail.check() }
        var selfish = try Self.endpoint()
        selfish.notifyBy = try .init(within: .seconds(5), fallback: selfish.id)
        #expect(throws: InvalidInput.self) { try selfish.check() }
    }

    @Test("a thin payload has the event's ID and status but no object")
    func thin() throws {
        let event = Self.event("a\"b", final: true)
        let object = try JSONSerialization.jsonObject(with: Data(event.thinJSON.utf8))
        let members = try #require(object as? [String: Any])
        #expect(
            Set(members.keys)
                == ["id", "type", "account", "source", "seq", "status", "final"]
        )
        #expect(members["id"] as? String == event.id.description)
        #expect(members["status"] as? String == "a\"b")
        #expect(members["final"] as? Bool == true)
        var endpoint = try Self.endpoint()
        #expect(DeliveryTarget(endpoint).body(of: event) == event.json)
        endpoint.payload = .thin
        #expect(DeliveryTarget(endpoint).body(of: event) == event.thinJSON)
    }

    @Test("the same name in two accounts gives two endpoints")
    func names() {
        let accounts = ["acct_a", "acct_b"].map(AccountID.init(unchecked:))
        #expect(
            EndpointID(account: accounts[0], name: "x")
                != EndpointID(account: accounts[1], name: "x")
        )
        #expect(
            EndpointID(account: accounts[0], name: "https://a")
                != EndpointID(account: accounts[0], url: "https://a")
        )
    }

    @Test("a stream URL needs a valid name")
    func streams() throws {
        #expect(try NotifyURL("redis+stream:orders").host == "orders")
        for text in ["redis+stream:", "redis+stream://x", "redis+stream:a b", "redis+stream:a{b}"] {
            #expect(throws: InvalidInput.self, "\(text)") { try NotifyURL(text) }
        }
    }
}
