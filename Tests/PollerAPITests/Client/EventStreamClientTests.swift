import NIOCore
import PollerTesting
import PollerWire
import Testing

@testable import PollerAPI
@testable import PollerClient

@Suite("Client event streams over the gateway")
struct EventStreamClientTests {
    /// Returns an event of a source as the gateway sends it.
    private static func event(
        _ source: String,
        seq: Int,
        closed: String? = nil,
        id: String = "evt"
    ) -> String {
        """
        {"id":"\(id)_\(source)_\(seq)","type":"source.s\(seq)","account":"default","source":"\(source)",\
        "kind":"source","seq":\(seq),"run":1,"previous_status":null,"status":"s\(seq)",\
        "final":\(closed != nil),"closed_reason":\(closed.map { "\"\($0)\"" } ?? "null"),"object":null,\
        "observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}
        """
    }

    private func client(_ api: LiveAPI, gateway: Int) throws -> PollerClient {
        try PollerClient(url: api.url, gateway: "http://127.0.0.1:\(gateway)")
    }

    @Test("events arrive by stream, by long poll after the stream ends, then by stream again")
    func changesTransports() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "s1")
            // The client resumes at positions of the API's log.
            let (opened, open) = AsyncStream.makeStream(of: String.self)
            try await ScriptedGateway.run { connection in
                open.yield(connection.query("since") ?? "")
                try await connection.begin()
                // The stream names the reconnect time and ends.
                try await connection.send("retry: 20\n\n:\n\n")
            } _: { gateway, port in
                var events = try client(api, gateway: port).events(for: "src_1")
                    .makeAsyncIterator()
                #expect(try await events.next()?.seq == 1)
                var seq = 1
                while gateway.requests.count < 2, seq < 1000 {
                    seq += 1
                    try await api.see("src_1", "s\(seq)")
                    #expect(try await events.next()?.seq == seq)
                }
                var places = opened.makeAsyncIterator()
                let first = await places.next()
                #expect(first?.isEmpty == false)
                try await api.see("src_1", "end", final: true)
                #expect(try await events.next()?.closedReason == "settled")
                #expect(try await events.next() == nil)
                #expect(gateway.requests.count >= 2)
                #expect(
                    gateway.requests.allSatisfy {
                        $0.hasPrefix("GET /v1/events/stream?") && $0.contains("source=src_1")
                    }
                )
            }
        }
    }

    @Test("events arrive over the stream alone, and a repeated event is returned once")
    func streams() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await ScriptedGateway.run { connection in
                try await connection.begin()
                let second = Self.event("src_1", seq: 2)
                try await connection.send(
                    "id: c1\ndata: \(Self.event("src_1", seq: 1))\n\nid: c2\n"
                )
                try await connection.send("data: \(second)\n\nid: c2\ndata: \(second)\n\n")
                try await connection.send("event: newer\ndata: {}\n\n")
                let last = Self.event("src_1", seq: 3, closed: "settled")
                try await connection.send("id: c3\ndata: \(last)\n\n")
                await connection.hold()
            } _: { gateway, port in
                var seqs: [Int] = []
                for try await event in try client(api, gateway: port).events(for: "src_1") {
                    seqs.append(event.seq)
                }
                #expect(seqs == [1, 2, 3])
                #expect(gateway.requests.count == 1)
            }
        }
    }

    @Test("without a reachable gateway, events arrive over long polls")
    func noGateway() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            // No retries: the shared HTTP client would retry for 15 s.
            try await PollerClient.withClient(url: api.url, gateway: "http://127.0.0.1:1") {
                var events = $0.events(for: "src_1").makeAsyncIterator()
                try await api.see("src_1", "pending")
                #expect(try await events.next()?.status == "pending")
                try await api.see("src_1", "consumed", final: true)
                #expect(try await events.next()?.status == "consumed")
            }
        }
    }

    @Test("a `reset` message makes the client read the history again")
    func reset() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "s1")
            let (gates, gate) = AsyncStream.makeStream(of: Void.self)
            try await ScriptedGateway.run { connection in
                try await connection.begin()
                for await _ in gates { break }
                try await connection.send("event: reset\nid: lost\ndata: {\"reason\":\"x\"}\n\n")
                await connection.hold()
            } _: { gateway, port in
                var events = try client(api, gateway: port).events(for: "src_1")
                    .makeAsyncIterator()
                #expect(try await events.next()?.seq == 1)
                try await api.see("src_1", "s2")
                gate.yield()
                #expect(try await events.next()?.seq == 2)
            }
        }
    }

    @Test(
        "after a failover, the events that replace lost ones are returned",
        .timeLimit(.minutes(5))
    )
    func replacements() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let (gates, gate) = AsyncStream.makeStream(of: Void.self)
            try await ScriptedGateway.run { connection in
                try await connection.begin()
                let lost = Self.event("src_1", seq: 1, id: "lost")
                try await connection.send("id: c1\ndata: \(lost)\n\n")
                try await connection.send("id: c2\ndata: \(Self.event("src_1", seq: 1))\n\n")
                for await _ in gates { break }
                try await connection.send("event: reset\nid: c3\ndata: {\"reason\":\"x\"}\n\n")
                try await connection.send("id: c4\ndata: \(Self.event("src_1", seq: 2))\n\n")
                await connection.hold()
            } _: { gateway, port in
                var events = try client(api, gateway: port).events(for: "src_1")
                    .makeAsyncIterator()
                #expect(try await events.next()?.id == "lost_src_1_1")
                #expect(try await events.next()?.id == "evt_src_1_1")
                // The history has a third event with this seq.
                try await api.see("src_1", "chargeable")
                gate.yield()
                let third = try await events.next()
                #expect(third?.seq == 1 && third?.status == "chargeable")
                #expect(try await events.next()?.seq == 2)
            }
        }
    }

    /// `closed`: the reason with which the lost event has closed the watch; its replacement closes it too.
    @Test(
        "a lost event that arrives together with the gap is followed by its replacement",
        arguments: [nil, "settled"] as [String?]
    )
    func lostBeforeGap(closed: String?) async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            let (gates, gate) = AsyncStream.makeStream(of: Void.self)
            try await ScriptedGateway.run { connection in
                try await connection.begin()
                for await _ in gates { break }
                let lost = Self.event("src_1", seq: 1, closed: closed, id: "lost")
                try await connection.send(
                    "id: c1\ndata: \(lost)\n\nevent: reset\nid: c2\ndata: {\"reason\":\"x\"}\n\n"
                )
                await connection.hold()
            } _: { gateway, port in
                let client = try client(api, gateway: port)
                let following = Task {
                    var statuses: [String?] = []
                    for try await event in client.events(for: "src_1") {
                        statuses.append(event.status)
                        if statuses.count == 2 { break }
                    }
                    return statuses
                }
                try await eventually("following") { gateway.requests.count == 1 }
                try await api.see("src_1", "chargeable", final: closed != nil)
                gate.yield()
                #expect(try await following.value == ["s1", "chargeable"])
            }
        }
    }

    @Test("ending or cancelling the iteration closes the connection")
    func cancellation() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await ScriptedGateway.run { connection in
                try await connection.begin()
                try await connection.send("id: c1\ndata: \(Self.event("src_1", seq: 1))\n\n")
                await connection.hold()
            } _: { gateway, port in
                let client = try client(api, gateway: port)
                for try await _ in client.events(for: "src_1") { break }
                try await eventually("left") { gateway.closedByClient == 1 }
                let following = Task {
                    for try await _ in client.events(for: "src_1") {}
                }
                try await eventually("following") { gateway.requests.count == 2 }
                following.cancel()
                await #expect(throws: CancellationError.self) { try await following.value }
                try await eventually("cancelled") { gateway.closedByClient == 2 }
            }
        }
    }

    @Test("a query has the account of its watches, and names no source if they have several")
    func accounts() throws {
        let client = try PollerClient(url: "http://127.0.0.1:1")
        func query(_ names: [WatchName]) -> EventSubscription {
            EventSubscription(client, names: names, account: nil, types: [])
        }
        let plain = query(["src_1", "src_2"])
        #expect(plain.sources == ["src_1", "src_2"])
        #expect(plain.account == nil)
        let acme = query([WatchName("src_1", account: "acme")])
        #expect(acme.sources == ["src_1"])
        #expect(acme.account == "acme")
        let mixed = query(["src_1", WatchName("src_2", account: "acme")])
        #expect(mixed.sources.isEmpty)
        #expect(mixed.account == nil)
    }

    @Test("messages parse the same for any chunk size, and an oversized message is rejected")
    func parsing() throws {
        let text =
            "\u{FEFF}retry: 250\r\n\r\n: hi\nid: a\nevent: x\ndata: 1\ndata:2\n\ndata: ü\r\rid: b\0\n"
            + "event: y\n\nevent: z\nid\ndata\n\ndata: {\"a\": \"b: c\"}\n\n"
        let bytes = Array(text.utf8)
        var whole = EventStreamParser()
        let expected = try whole.parse(bytes)
        #expect(expected.map(\.name) == ["x", "message", "z", "message"])
        #expect(expected.map(\.data) == ["1\n2", "ü", "", #"{"a": "b: c"}"#])
        #expect(expected.map(\.id) == ["a", "a", "", ""])
        for size in 1...bytes.count {
            var parser = EventStreamParser()
            var found: [EventStreamParser.Message] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                found += try parser.parse(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(found == expected)
        }
        var flooded = EventStreamParser(messageBytesMax: 1000)
        #expect(throws: PollerError.self) {
            try flooded.parse(repeatElement(UInt8(ascii: "x"), count: 1001))
        }
    }
}
