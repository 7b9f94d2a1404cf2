import NIOCore
import PollerDeliveries
import PollerNet
import PollerTesting
import ServiceLifecycle
import Testing

@testable import PollerAPI

@Suite("Limits of connections")
struct ConnectionTests {
    private static let key = "pk_0123456789abcdef0123"

    /// Returns the head of a request whose body never arrives, except for one byte.
    private static func unread(_ line: String) -> String {
        "\(line) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: 1000\r\n\r\n{"
    }

    @Test(
        "a response sent before the body was read closes the connection",
        arguments: [
            ("POST /v1/watches", 401), ("GET /nowhere", 401), ("PUT /openapi.json", 401),
            ("GET /openapi.json", 200), ("GET /r/src_1", 404), ("POST /v1/stripe/webhook", 400),
        ]
    )
    func unreadBodies(line: String, status: Int) async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.key)) { api in
            let bytes = Self.unread(line)
            let answer = try await RawConnection.everything(port: api.port, to: bytes)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.lowercased().contains("\r\nconnection: close\r\n"))
        }
    }

    @Test("a response after the body was read keeps the connection open")
    func readBodies() async throws {
        try await LiveAPI.run { api in
            let wrong = #"{"source":"src_1","polizy":"x"}"#
            let head = "HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            let first =
                "POST /v1/watches \(head)Content-Length: \(wrong.utf8.count)\r\n\r\n\(wrong)"
            let second = "POST /v1/watches/src_1/poll \(head)Content-Length: 0\r\n\r\n"
            let last = "GET /nowhere \(head)Connection: close\r\n\r\n"
            let answers = try await RawConnection.everything(
                port: api.port,
                to: first + second + last
            )
            let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
            #expect(statuses == ["400", "404", "404"], "\(answers)")
        }
    }

    @Test("invalid HTTP gets 400 and closes the connection")
    func noHTTP() async throws {
        try await LiveAPI.run { api in
            let answer = try await RawConnection.everything(
                port: api.port,
                to: "POST /v1/watches HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"
            )
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
        }
    }

    @Test(
        "a request with no host, two hosts or an invalid host gets 400",
        arguments: [
            ("GET /livez HTTP/1.1", []), ("GET /livez HTTP/1.1", ["localhost", "localhost"]),
            ("GET /livez HTTP/1.1", ["localhost", "evil.example"]),
            ("GET /livez HTTP/1.1", ["local host"]), ("GET /livez HTTP/1.0", ["a", "a"]),
        ]
    )
    func hosts(line: String, hosts: [String]) async throws {
        try await LiveAPI.run { api in
            let bad = line + "\r\n" + hosts.map { "Host: \($0)\r\n" }.joined() + "\r\n"
            let answer = try await RawConnection.everything(port: api.port, to: bad)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            // Earlier requests on the same connection get their responses first.
            let good = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let answers = try await RawConnection.everything(port: api.port, to: good + bad)
            let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
            #expect(statuses == ["200", "400"])
        }
    }

    @Test("connections from one address are limited, and a closed one frees its slot")
    func perAddress() async throws {
        try await LiveAPI.run(addresses: .most(3)) { api in try await Self.fill(api.port, 3) }
    }

    @Test("the admin listener has the same limits")
    func admin() async throws {
        let (ports, bound) = AsyncStream.makeStream(of: Int.self)
        let server = AdminServer(
            bind: ListenAddress(host: "127.0.0.1", port: 0),
            addresses: .most(3),
            logger: LiveAPI.quiet,
            notReady: { [] },
            metrics: { "" },
            onBound: { bound.yield($0.port) }
        )
        let group = ServiceGroup(services: [server], logger: LiveAPI.quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            for (line, status) in [("GET /livez", 200), ("POST /nowhere", 404)] {
                let bytes = Self.unread(line)
                let answer = try await RawConnection.everything(port: port, to: bytes)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            }
            let hostless = try await RawConnection.everything(
                port: port,
                to: "GET /livez HTTP/1.1\r\n\r\n"
            )
            #expect(hostless.hasPrefix("HTTP/1.1 400 "), "\(hostless)")
            let old = "GET /livez HTTP/1.0\r\n\r\n"
            let answer = try await RawConnection.firstAnswer(port: port, to: old)
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            try await Self.fill(port, 3)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Takes every slot.
    ///
    /// A further connection is closed without a response, and served once a slot is free.
    private static func fill(_ port: Int, _ most: Int) async throws {
        let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let opened = try await RawConnection.open(port: port, count: most + 1)
        // The connections are set up concurrently, so any one of them may be the rejected one.
        try await eventually("one is closed") { opened.contains { !$0.isActive } }
        let taken = opened.filter(\.isActive)
        #expect(taken.count == most)
        let refused = try? await RawConnection.everything(port: port, to: request)
        #expect(refused ?? "" == "")
        // The server may already have closed an idle connection.
        try? await taken[0].close()
        try await eventually("a place is free") {
            let answer = try? await RawConnection.everything(port: port, to: request)
            return answer?.hasPrefix("HTTP/1.1 ") ?? false
        }
        for channel in taken.dropFirst() { try? await channel.close() }
    }

    @Test("one key gets half of the long-poll slots or its limit, and another key still gets one")
    func perKey() async throws {
        try await perKey(of: LongPolls.waitersMax / 2) { feed in
            LongPolls(feed: feed, addresses: .half, clock: ManualClock())
        }
        try await perKey(of: 3) { feed in
            LongPolls(feed: feed, addresses: .half, perKey: 3, clock: ManualClock())
        }
    }

    private func perKey(
        of most: Int,
        _ make: (ObservedFeed) -> LongPolls
    ) async throws {
        let feed = ObservedFeed(SilentFeed())
        let polls = make(feed)
        let here = IPAddress(bytes: [127, 0, 0, 1])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<most { group.addTask { try await Self.wait(polls, "key 1", here) } }
            try await eventually("all wait") { feed.listened == most }
            let problem = await #expect(throws: Problem.self) {
                try await Self.wait(polls, "key 1", here, finding: 1)
            }
            #expect(problem?.code == .tooManyRequests && problem?.retryAfterSeconds == 1)
            #expect(problem?.detail.contains("\(most) requests with this key") == true)
            try await Self.wait(polls, "key 2", here, finding: 1)
            group.cancelAll()
        }
    }

    @Test("one address gets half of the long-poll slots, with any number of keys")
    func waitersPerAddress() async throws {
        let feed = ObservedFeed(SilentFeed())
        let polls = LongPolls(feed: feed, addresses: .half, clock: ManualClock())
        let there = IPAddress(bytes: [192, 0, 2, 1])
        let most = LongPolls.waitersMax / 2
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<most {
                group.addTask { try await Self.wait(polls, "key \(number % 2)", there) }
            }
            try await eventually("all wait") { feed.listened == most }
            let problem = await #expect(throws: Problem.self) {
                try await Self.wait(polls, "key 3", there, finding: 1)
            }
            #expect(problem?.code == .tooManyRequests)
            let other = IPAddress(bytes: [192, 0, 2, 2])
            try await Self.wait(polls, "key 3", other, finding: 1)
            group.cancelAll()
        }
    }

    /// Takes a slot and waits.
    ///
    /// With something to find, it returns at once.
    private static func wait(
        _ polls: LongPolls,
        _ key: String,
        _ address: IPAddress,
        finding found: Int? = nil
    ) async throws {
        _ = try await polls.first(
            within: .seconds(30),
            for: LongPolls.Waiter(key: key, address: address),
            matching: .everything,
            read: { found }
        )
    }

    /// A feed without events.
    private struct SilentFeed: EventFeed {
        func listen(bufferMax: Int, to interest: Interest) -> AsyncStream<FeedItem> {
            AsyncStream { _ in }
        }
    }
}

@Suite("Listen errors")
struct ListenErrorTests {
    @Test("a port in use is reported with its option, for both listeners")
    func portInUse() async throws {
        try await LiveAPI.run { api in
            let bind = ListenAddress(host: "127.0.0.1", port: api.port)
            let server = APIServer(
                bind: bind,
                backend: api.backend,
                keys: .open,
                clock: ContinuousClock(),
                logger: LiveAPI.quiet
            )
            let error = await #expect(throws: ListenError.self) { try await run(server) }
            #expect(error?.option == "api-bind")
            let text = "\(try #require(error))"
            for part in ["127.0.0.1:\(api.port)", "in use", "--api-bind", "POLLER_API_BIND"] {
                #expect(text.contains(part), "\(text)")
            }
            let admin = AdminServer(
                bind: bind,
                logger: LiveAPI.quiet,
                notReady: { [] },
                metrics: { "" }
            )
            let other = await #expect(throws: ListenError.self) { try await run(admin) }
            #expect(other?.description.contains("POLLER_ADMIN_BIND") == true)
        }
    }

    @Test("addresses that cannot be bound are reported in one line before the start")
    func obstacles() async throws {
        try await LiveAPI.run { api in
            let taken = ListenAddress(host: "127.0.0.1", port: api.port)
            let free = ListenAddress(host: "127.0.0.1", port: 0)
            let none = ListenError.obstacle(to: [("api-bind", free), ("admin-bind", free)])
            #expect(none == nil)
            let one = ListenError.obstacle(to: [("api-bind", free), ("admin-bind", taken)])
            #expect(one?.description.contains("--admin-bind (POLLER_ADMIN_BIND)") == true)
            let twins = ListenError.obstacle(to: [("api-bind", taken), ("admin-bind", taken)])
            #expect(twins?.description.hasPrefix("--api-bind and --admin-bind are both") == true)
            let other = ListenAddress(host: "192.0.2.1", port: 1)
            let both = ListenError.obstacle(to: [("api-bind", taken), ("admin-bind", other)])
            let text = "\(try #require(both))"
            for part in ["\(taken) (--api-bind)", "\(other) (--admin-bind)", "another pollerd"] {
                #expect(text.contains(part), "\(text)")
            }
            #expect(!text.contains("\n"))
        }
    }

    @Test("an address of another machine and an unknown host have distinct errors")
    func otherAddresses() async throws {
        try await LiveAPI.run { api in
            // 192.0.2.0/24 is reserved for documentation (RFC 5737). Binding sends nothing.
            for (host, part) in [
                ("192.0.2.1", "no address of this machine"), ("no.such.host.invalid", "unknown"),
            ] {
                let server = APIServer(
                    bind: ListenAddress(host: host, port: 0),
                    backend: api.backend,
                    keys: .open,
                    clock: ContinuousClock(),
                    logger: LiveAPI.quiet
                )
                let error = await #expect(throws: ListenError.self) { try await run(server) }
                #expect(error?.description.contains(part) == true, "\(host): \(error as Any)")
            }
        }
    }

    /// Runs a service in the same way as pollerd.
    private func run(_ service: any Service) async throws {
        try await ServiceGroup(services: [service], logger: LiveAPI.quiet).run()
    }
}
