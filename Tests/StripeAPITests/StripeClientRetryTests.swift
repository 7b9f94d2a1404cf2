import Foundation
import StripeAPI
import Testing

/// Typed calls to a server that fails at first.
@Suite struct StripeClientRetryTests {
    private static let source =
        #"{"id":"src_1","type":"ideal","status":"pending","livemode":false}"#

    private func client(_ server: ScriptedServer, _ clock: TestClock) -> StripeClient {
        StripeClient(
            configuration: StripeClientConfiguration(
                key: StripeKey("sk_test_0123456789abcdef"),
                baseURL: server.address,
                timeout: .seconds(60),
                clock: clock,
                makeJitter: { 1 }
            )
        )
    }

    private func keys(_ server: ScriptedServer) -> Set<String?> {
        Set(
            server.requests.map { request in
                request.split(separator: "\r\n").first { $0.hasPrefix("Idempotency-Key") }
                    .map(String.init)
            }
        )
    }

    @Test("a POST is retried with the key of the first attempt and takes effect once")
    func post() async throws {
        let clock = TestClock()
        try await ScriptedServer.withRunning(
            .json(500, "{}"),
            .close,
            .json(200, Self.source)
        ) { server in
            let source = try await client(server, clock).createSource(
                .ideal(amount: 1, returnURL: "app://back")
            )
            #expect(source.id == "src_1")
            #expect(server.requests.count == 3)
            #expect(Set(server.requests.map { $0.split(separator: "\r\n").last }).count == 1)
            #expect(keys(server).count == 1)
            #expect(keys(server).first.flatMap { $0 } != nil)
            #expect(clock.slept == [.seconds(0.5), .seconds(1)])
        }
    }

    @Test("two calls without a key get different keys, and a GET none")
    func separateKeys() async throws {
        try await ScriptedServer.withRunning(.json(200, Self.source)) { server in
            let client = client(server, TestClock())
            for _ in 1...2 { _ = try await client.createSource([("type", "card")]) }
            #expect(keys(server).count == 2)
        }
        try await ScriptedServer.withRunning(.json(200, Self.source)) { server in
            _ = try await client(server, TestClock()).retrieveSource("src_1")
            #expect(keys(server) == [nil])
        }
    }

    @Test("after the last attempt the error is thrown, with its request ID")
    func exhausted() async throws {
        try await ScriptedServer.withRunning(
            .json(503, "{}", headers: "Request-Id: req_1\r\n")
        ) { server in
            let error = await #expect(throws: StripeError.self) {
                try await client(server, TestClock()).retrieveSource("src_1")
            }
            #expect(error?.status == 503)
            #expect(error?.requestID == "req_1")
            #expect(error?.isIndeterminate == true)
            #expect(server.requests.count == 3)
        }
    }

    @Test("a call to a locked object is retried, a rate-limited call is not")
    func limits() async throws {
        let locked = #"{"error":{"type":"invalid_request_error","code":"lock_timeout"}}"#
        try await ScriptedServer.withRunning(
            .json(429, locked),
            .json(200, Self.source)
        ) { server in
            _ = try await client(server, TestClock()).retrieveSource("src_1")
            #expect(server.requests.count == 2)
        }
        try await ScriptedServer.withRunning(
            .json(429, "{}", headers: "Stripe-Rate-Limited-Reason: endpoint-rate\r\n")
        ) { server in
            let error = await #expect(throws: StripeError.self) {
                try await client(server, TestClock()).retrieveSource("src_1")
            }
            #expect(error?.status == 429)
            #expect(server.requests.count == 1)
        }
    }

    @Test("raw calls are sent once, regardless of the response")
    func raw() async throws {
        try await ScriptedServer.withRunning(.json(500, "{}")) { server in
            let client = client(server, TestClock())
            let answers = [
                try await client.get("/v1/sources/src_1"),
                try await client.post("/v1/sources", form: []),
                try await client.delete("/v1/webhook_endpoints/we_1"),
            ]
            #expect(answers.map(\.status) == [500, 500, 500])
            #expect(server.requests.count == 3)
        }
    }

    @Test("a cancelled call does not wait for its next attempt")
    func cancelled() async throws {
        let clock = TestClock(advancesOnSleep: false)
        try await ScriptedServer.withRunning(.json(500, "{}")) { server in
            let client = client(server, clock)
            let task = Task { () -> StripeError? in
                do throws(StripeError) {
                    _ = try await client.retrieveSource("src_1")
                    return nil
                } catch {
                    return error
                }
            }
            #expect(await eventually { clock.sleeperCount == 1 })
            task.cancel()
            guard case .transport(let failure)? = await task.value else {
                return fail("not a transport failure")
            }
            #expect(failure.kind == .cancelled)
            #expect(server.requests.count == 1)
        }
    }

    @Test("a client acting for an account sends it, and the original client does not")
    func account() async throws {
        try await ScriptedServer.withRunning(.json(200, Self.source)) { server in
            let client = client(server, TestClock())
            _ = try await client.acting(for: "acct_9").retrieveSource("src_1")
            _ = try await client.retrieveSource("src_1")
            #expect(server.requests[0].contains("Stripe-Account: acct_9\r\n"))
            #expect(!server.requests[1].contains("Stripe-Account"))
        }
    }
}
