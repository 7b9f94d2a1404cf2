import PollerClient
import PollerTesting
import PollerWire
import Synchronization
import Testing

@Suite("Following events with an API and a gateway")
struct GatewayFollowTests {
    /// The events that a follower has received.
    ///
    /// A class, because the test shares it.
    private final class RecordedStatuses: Sendable {
        let statuses = Mutex<[String]>([])
    }

    private func client(_ servers: LiveAPI.Servers) throws -> PollerClient {
        try PollerClient(url: servers.api.url, gateway: servers.gateway.url)
    }

    @Test("events of a watch arrive over the stream alone, each once, until the watch is final")
    func streams() async throws {
        try await LiveAPI.runWithGateway(over: try await RedisStores()) { servers in
            let client = try client(servers)
            try await servers.api.enqueue("src_1")
            try await servers.api.see("src_1", "s1")
            var events = client.events(for: "src_1").makeAsyncIterator()
            for number in 1...30 {
                let event = try await events.next()
                #expect(event?.seq == number && event?.status == "s\(number)")
                // Recorded after the previous event has been read, so that it arrives live.
                if number < 30 {
                    try await servers.api.see("src_1", "s\(number + 1)", final: number == 29)
                }
            }
            #expect(try await events.next() == nil)
            #expect(servers.api.feed.listened == 0, "long polls that somebody waited in")
            var over = client.events(for: "src_1", after: 30).makeAsyncIterator()
            #expect(try await over.next() == nil)
        }
    }

    @Test(
        "a follower survives restarts of both servers without losing, repeating or reordering events"
    )
    func restarts() async throws {
        let received = RecordedStatuses()
        var recorded: [String] = []
        var follower: Task<Void, any Error>?
        var ports = (api: 0, gateway: 0)
        let stores = try await RedisStores()
        for round in 1...3 {
            try await LiveAPI.runWithGateway(over: stores, ports: ports) { servers in
                ports = (servers.api.port, servers.gateway.port)
                if round == 1 {
                    try await servers.api.enqueue("src_1")
                    let client = try client(servers)
                    follower = Task {
                        for try await event in client.events(for: "src_1") {
                            received.statuses.withLock { $0.append(event.status ?? "") }
                        }
                    }
                }
                for _ in 0..<20 {
                    recorded.append("s\(recorded.count)")
                    try await servers.api.see("src_1", recorded[recorded.count - 1])
                }
                // Some are read. The servers stop while others are in transit.
                let half = recorded.count - 10
                try await eventually("half is read") {
                    received.statuses.withLock(\.count) >= half
                }
                if round == 3 {
                    recorded.append("end")
                    try await servers.api.see("src_1", "end", final: true)
                    try await follower?.value
                } else {
                    recorded.append("late")
                    try await servers.api.see("src_1", "late")
                }
            }
        }
        #expect(received.statuses.withLock(\.self) == recorded)
    }

    @Test("following from a page's cursor continues after the page")
    func oneCursor() async throws {
        try await LiveAPI.runWithGateway(over: try await RedisStores()) { servers in
            let names = (0..<40).map { "src_\($0)" }
            for name in names {
                try await servers.api.enqueue(name)
                try await servers.api.see(name, "pending")
            }
            let client = try client(servers)
            let page = try await client.events(from: .oldest, limit: 15)
            var seen = page.items.map(\.source)
            #expect(!seen.isEmpty && seen.count <= 15)
            let cursor = try #require(page.next)
            var following = client.follow(from: .cursor(cursor)).makeAsyncIterator()
            while seen.count < names.count, case .event(let event)? = try await following.next() {
                seen.append(event.source)
            }
            #expect(seen.sorted() == names.sorted())
            #expect(servers.api.feed.listened == 0, "long polls that somebody waited in")
        }
    }
}
