import Foundation
import NIOCore
import Testing

@testable import StripeSandbox

@Suite("Held webhooks")
struct HeldWebhooksTests {
    @Test("each endpoint gets the held webhooks one after another, the newest first")
    func order() throws {
        var state = try held(endpoints: ["we_a", "we_b"], events: 3)
        #expect(state.removeWebhookFaults(nil) == 2)
        // One for each endpoint is on its way; they do not wait for each other.
        #expect(urls(&state) == ["http://we_a", "http://we_b"])
        var sent: [Int] = []
        for _ in 0..<3 {
            let number = try #require(state.releasedDeliveries["we_a"]?.first)
            sent.append(number)
            state.recordAttempt(number, status: 200)
            #expect(urls(&state) == (sent.count < 3 ? ["http://we_a"] : []))
        }
        #expect(sent == sent.sorted(by: >) && sent.count == 3)
        #expect(state.releasedDeliveries.keys.sorted() == ["we_b"])
    }

    @Test("a failed webhook does not delay the next one, and is sent again")
    func failure() throws {
        var state = try held(endpoints: ["we_a"], events: 2)
        _ = state.removeWebhookFaults(nil)
        let first = try #require(state.releasedDeliveries["we_a"]?.first)
        _ = urls(&state)
        state.recordAttempt(first, status: 500)
        #expect(urls(&state) == ["http://we_a"])
        #expect(state.timers.attempts == [first])
    }

    @Test("nothing is sent to an endpoint that was disabled in between")
    func disabled() throws {
        var state = try held(endpoints: ["we_a"], events: 3)
        _ = state.removeWebhookFaults(nil)
        let first = try #require(state.releasedDeliveries["we_a"]?.first)
        _ = urls(&state)
        state.webhooks[0].isEnabled = false
        state.recordAttempt(first, status: 200)
        #expect(urls(&state).isEmpty && state.releasedDeliveries.isEmpty)
        #expect(state.deliveries.isEmpty)
    }

    /// Returns a state in which two faults hold the events of two types in turn.
    private func held(endpoints: [String], events: Int) throws -> SandboxState {
        var state = SandboxState(configuration: SandboxConfiguration(), seed: 1, machineMs: 1000)
        for id in endpoints {
            state.webhooks.append(
                SandboxWebhook(
                    id: id,
                    account: nil,
                    created: 1,
                    url: "http://\(id)",
                    secret: "whsec_1",
                    events: ["*"],
                    description: nil,
                    reach: .own
                )
            )
        }
        let types = ["source.chargeable", "charge.succeeded"]
        for type in types {
            let text = #"{"mode":"hold","match":"\#(type)"}"#
            state.webhookFaults.append(
                try JSONDecoder().decode(WebhookFault.self, from: Data(text.utf8))
            )
            state.webhookFaults[state.webhookFaults.count - 1].id = type
        }
        for index in 0..<events {
            // Safe: the index is 0 or 1.
            state.emit(types[index % 2], ByteBuffer(string: "{}"), account: nil)
        }
        #expect(state.posts.isEmpty)
        return state
    }

    /// Takes the webhooks to send and returns their URLs.
    private func urls(_ state: inout SandboxState) -> [String] {
        defer { state.posts = [] }
        return state.posts.map(\.url)
    }
}
