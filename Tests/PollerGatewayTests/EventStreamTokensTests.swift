import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import Synchronization
import Testing

@testable import PollerGateway

@Suite(
    "Tokens in event stream URLs",
    .enabled(if: PythonPeer.has("http.client"), "needs python3")
)
struct EventStreamTokensTests {
    private static let path = "/v1/events/stream"

    /// Creates a token with this age at the start of the gateway.
    private func token(_ age: Duration = .zero) async throws -> String {
        let tokens = StreamTokens(roots: RootRing(fixed: LiveBench.cursorSecret)) {
            VirtualTime.start + (.zero - age)
        }
        return try await tokens.issue(StreamGrant(), lifetime: .seconds(600)).reveal
    }

    @Test("a token in a URL opens one stream and is rejected everywhere after that")
    func once() async throws {
        try await LiveBench.run { bench in
            let token = try await token()
            let url = "\(Self.path)?token=\(token)"
            let first = try await bench.stream(url, [])
            let ready = try await first.streamed("ready")
            #expect(try await bench.stream(url, []).status == 401)
            #expect(try await bench.stream(Self.path, ["--token", token]).status == 401)
            let socket = try await bench.client([])
            try socket.send(#"{"op":"auth","token":"\#(token)"}"#)
            #expect(try await socket.closeCode() == 4003)
            // A cursor in the URL would be in the same log.
            let place = try #require(ready["id"]?.string)
            #expect(try await bench.stream("\(url)&since=\(place)", []).status == 401)
            #expect(try await bench.stream(url, ["--last-id", "nonsense"]).status == 401)
        }
    }

    @Test("a browser that reconnects with its last ID resumes, as often as it reconnects")
    func comesBack() async throws {
        try await LiveBench.run { bench in
            let url = "\(Self.path)?token=\(try await token())"
            var client: PythonPeer? = try await bench.stream(url, [])
            var place = try #require(try await client?.streamed("ready")["id"]?.string)
            for number in 1...2 {
                client = nil
                try await bench.record("src_\(number)", "pending")
                client = try await bench.stream(url, ["--last-id", place])
                let delivered = try await (try #require(client)).streamed("message")
                #expect(delivered["data"]?["source"]?.string == "src_\(number)")
                place = try #require(delivered["id"]?.string)
            }
        }
    }

    @Test("a token that was used in a URL does not tell whether its source is settled")
    func settled() async throws {
        try await LiveBench.run { bench in
            try await bench.record("src_1", "consumed", final: true)
            try await bench.record("src_2", "pending")
            let token = try await token()
            func url(_ source: String) -> String {
                "/v1/sources/\(source)/events?token=\(token)&after_seq=1"
            }
            // An unused token is told so, and is not used by it.
            #expect(try await bench.stream(url("src_1"), []).status == 204)
            let first = try await bench.stream(url("src_2"), [])
            #expect(first.status == 200)
            try await first.streamed("ready")
            for source in ["src_1", "src_2"] {
                for method in ["GET", "HEAD"] {
                    let answer = try await bench.stream(url(source), ["--method", method])
                    #expect(answer.status == 401, "\(method) \(source)")
                }
            }
        }
    }

    @Test("a token older than 30 s is rejected in a URL and accepted in a header")
    func late() async throws {
        try await LiveBench.run { bench in
            let token = try await token(.seconds(40))
            let headed = try await bench.stream(Self.path, ["--token", token])
            try await headed.streamed("ready")
            #expect(try await bench.stream("\(Self.path)?token=\(token)", []).status == 401)
        }
    }

    @Test("a token used at one gateway is rejected at every other gateway")
    func everyGateway() async throws {
        let spent = MemorySpentTokens()
        let url = "\(Self.path)?token=\(try await token())"
        try await LiveBench.run(spent: spent) { here in
            let client = try await here.stream(url, [])
            try await client.streamed("ready")
            try await LiveBench.run(spent: spent) { there in
                let status = try await there.stream(url, []).status
                #expect(status == 401)
            }
        }
    }

    @Test("while the store is unavailable, a token gets a retry and remains valid")
    func storeAway() async throws {
        let spent = ForgetfulTokens()
        try await LiveBench.run(spent: spent) { bench in
            let url = "\(Self.path)?token=\(try await token())"
            spent.isAway.withLock { $0 = true }
            let early = try await bench.stream(url, [])
            #expect(early.status == 200)
            try await early.ended()
            #expect(early.messages.isEmpty)
            spent.isAway.withLock { $0 = false }
            let client = try await bench.stream(url, [])
            try await client.streamed("ready")
        }
    }
}

/// A store of spent tokens that can be made unavailable.
private final class ForgetfulTokens: SpentTokens {
    let isAway = Mutex(false)
    private let base = MemorySpentTokens()

    func spend(_ id: String, for life: Duration) async throws(StoreError) -> Bool {
        try check()
        return try await base.spend(id, for: life)
    }

    func isSpent(_ id: String) async throws(StoreError) -> Bool {
        try check()
        return try await base.isSpent(id)
    }

    private func check() throws(StoreError) {
        if isAway.withLock({ $0 }) { throw .unavailable("away") }
    }
}
