import PollerTesting
import Testing

@testable import PollerGateway

/// After a failover that lost an event, another event has its number.
///
/// A client that received the lost one must receive
/// the new one too.
@Suite("Events that replace lost ones", .timeLimit(.minutes(5)))
struct LostEventsTests {
    private static let path = "/v1/sources/src_1/events"

    @Test("after lost events, a connected client receives the new event and `settled`")
    func live() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            let socket = try await bench.client()
            try socket.send(
                #"{"op":"subscribe","ref":1,"sources":["src_1"],"from":"snapshot"}"#
            )
            try await socket.message("caught_up")
            let stream = try await bench.stream(Self.path)
            try await stream.streamed("ready")
            bench.store.checkpoint()
            try await bench.record("src_1", "chargeable")
            try await socket.message("event")
            try await stream.streamed("message")
            bench.store.rewind()
            try await bench.record("src_1", "failed", final: true)
            try await socket.message("settled")
            #expect(socket.events == ["src_1:chargeable", "src_1:failed"])
            try await stream.ended()
            #expect(stream.delivered == ["src_1:chargeable", "src_1:failed"])
        }
    }

    @Test("a client whose snapshot covered more events than the log has now receives the new ones")
    func shorter() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "a")
            bench.store.checkpoint()
            for status in ["b", "c"] { try await bench.record("src_1", status) }
            var clients: [PythonPeer] = []
            for sources in [#"["src_1"]"#, #"["src_1","src_2"]"#] {
                let client = try await bench.client()
                try client.send(
                    #"{"op":"subscribe","ref":1,"sources":\#(sources),"from":"snapshot"}"#
                )
                try await client.message("caught_up")
                clients.append(client)
            }
            bench.store.rewind()
            try await bench.record("src_1", "d")
            try await bench.record("src_1", "e", final: true)
            for client in clients {
                try await client.message("settled")
                #expect(client.events == ["src_1:d", "src_1:e"])
            }
        }
    }

    @Test("a client that reconnects at a lost position gets `reset` and a snapshot")
    func comesBack() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "pending")
            bench.store.checkpoint()
            try await bench.record("src_1", "chargeable")
            let first = try await bench.stream(Self.path + "?after_seq=1")
            let delivered = try await first.streamed("message")
            let place = try #require(delivered["id"]?.string)
            bench.store.rewind()
            try await bench.record("src_1", "failed", final: true)
            let second = try await bench.stream(
                Self.path,
                ["--token", "key-all", "--last-id", place]
            )
            #expect(second.status == 200, "a 204 would end the stream permanently")
            try await second.streamed("reset")
            let snapshot = try await second.streamed("snapshot")
            #expect(snapshot["data"]?["status"]?.string == "failed")
            // From there on the stream is done.
            let last = try #require(second.messages.last { $0["id"]?.string != nil }?["id"]?.string)
            let third = try await bench.stream(
                Self.path,
                ["--token", "key-all", "--last-id", last]
            )
            #expect(third.status == 204)
        }
    }

    @Test("a position is lost, too, if the same event was recorded again after another one")
    func recordedAgain() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "a")
            bench.store.checkpoint()
            for status in ["b", "c"] { try await bench.record("src_1", status) }
            let first = try await bench.stream(Self.path + "?after_seq=2")
            let delivered = try await first.streamed("message")
            let place = try #require(delivered["id"]?.string)
            bench.store.rewind()
            for status in ["x", "c"] { try await bench.record("src_1", status) }
            let second = try await bench.stream(
                Self.path,
                ["--token", "key-all", "--last-id", place]
            )
            try await second.streamed("reset")
        }
    }
}
