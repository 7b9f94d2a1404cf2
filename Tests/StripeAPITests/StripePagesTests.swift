import Foundation
import StripeAPI
import Testing

@Suite struct StripePagesTests {
    private func page(_ ids: [String], more: Bool) -> ScriptedServer.Reply {
        let events = ids.map {
            #"{"id":"\#($0)","type":"t","livemode":false,"data":{"object":{}}}"#
        }
        return .json(200, #"{"data":[\#(events.joined(separator: ","))],"has_more":\#(more)}"#)
    }

    private func client(_ server: ScriptedServer) -> StripeClient {
        StripeClient(
            configuration: StripeClientConfiguration(
                key: StripeKey("sk_test_0123456789abcdef"),
                baseURL: server.address,
                timeout: .seconds(5)
            )
        )
    }

    private func targets(_ server: ScriptedServer) -> [Substring] {
        server.requests.map { $0.split(separator: " ")[1] }
    }

    @Test("without a cursor a list is read from new to old")
    func newestFirst() async throws {
        try await ScriptedServer.withRunning(
            page(["evt_5", "evt_4"], more: true),
            page(["evt_3", "evt_2"], more: true),
            page(["evt_1"], more: false)
        ) { server in
            var ids: [String] = []
            for try await event in client(server).events() { ids.append(event.id) }
            #expect(ids == ["evt_5", "evt_4", "evt_3", "evt_2", "evt_1"])
            #expect(
                targets(server) == [
                    "/v1/events?limit=100", "/v1/events?limit=100&starting_after=evt_4",
                    "/v1/events?limit=100&starting_after=evt_2",
                ]
            )
        }
    }

    @Test("with endingBefore a list is read from old to new")
    func oldestFirst() async throws {
        try await ScriptedServer.withRunning(
            page(["evt_3", "evt_2"], more: true),
            page(["evt_5", "evt_4"], more: false)
        ) { server in
            var ids: [String] = []
            for try await event in client(server).events(cursor: .endingBefore("evt_1")) {
                ids.append(event.id)
            }
            #expect(ids == ["evt_2", "evt_3", "evt_4", "evt_5"])
            #expect(
                targets(server) == [
                    "/v1/events?limit=100&ending_before=evt_1",
                    "/v1/events?limit=100&ending_before=evt_3",
                ]
            )
        }
    }

    @Test("pages are loaded on demand, and an empty page ends the list")
    func lazyReading() async throws {
        try await ScriptedServer.withRunning(page(["evt_2", "evt_1"], more: true)) { server in
            for try await _ in client(server).events() { break }
            #expect(server.requests.count == 1)
        }
        try await ScriptedServer.withRunning(page([], more: true)) { server in
            for try await event in client(server).events() { Issue.record("\(event)") }
            #expect(server.requests.count == 1)
        }
    }

    @Test("a repeated cursor is an error, not a loop")
    func repeatedCursor() async throws {
        try await ScriptedServer.withRunning(page(["evt_2", "evt_1"], more: true)) { server in
            await #expect(throws: StripeError.self) {
                for try await _ in client(server).events() {}
            }
            #expect(server.requests.count == 2)
        }
    }
}
