import Foundation
import StripeAPI
import Synchronization
import Testing

@Suite struct StripeClientTests {
    private static let key = StripeKey("sk_test_4eC39HqLyjWDarjtT1zdp7dc")
    private static let okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

    private func client(_ address: String, timeout: Duration = .seconds(60)) -> StripeClient {
        StripeClient(
            configuration: StripeClientConfiguration(
                key: Self.key,
                baseURL: address + "/",
                account: "acct_1",
                timeout: timeout,
                makeIdempotencyKey: { "made-key" }
            )
        )
    }

    /// Sends a GET to a server that answers with these bytes, and returns the failure and the elapsed time.
    private func failure(
        _ reply: String,
        then ending: ScriptedServer.Ending,
        timeout: Duration = .seconds(60)
    ) async throws -> (error: StripeError?, took: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        let error = try await ScriptedServer.withRunning(.bytes(reply, then: ending)) { server in
            await #expect(throws: StripeError.self) {
                try await client(server.address, timeout: timeout).get("/v1/sources/src_1")
            }
        }
        return (error, clock.now - start)
    }

    @Test(
        "a GET sends key, version and account, and returns the unchanged status, headers and body"
    )
    func get() async throws {
        let reply =
            "HTTP/1.1 429 Too Many\r\nContent-Type: application/json\r\nRequest-Id: req_7\r\n"
            + "Retry-After: 3\r\nStripe-Should-Retry: true\r\n"
            + "Stripe-Rate-Limited-Reason: endpoint-rate\r\nContent-Length: 3\r\n\r\n{} "
        let (response, request) = try await ScriptedServer.withRunning(
            .bytes(reply, then: .silence)
        ) { server in
            let response = try await client(server.address)
                .get("/v1/sources/src_1", query: [("client_secret", "a b&c")])
            return (response, try #require(server.requests.first))
        }
        #expect(response.status == 429)
        #expect(response.body == Data("{} ".utf8))
        #expect(response.headers.requestID == "req_7")
        #expect(response.headers.retryAfter == "3")
        #expect(response.headers.shouldRetry == true)
        #expect(response.headers.rateLimitedReason == "endpoint-rate")
        #expect(request.hasPrefix("GET /v1/sources/src_1?client_secret=a%20b%26c HTTP/1.1\r\n"))
        #expect(request.contains("Authorization: Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc\r\n"))
        #expect(request.contains("Stripe-Version: \(StripeVersion.pinned)\r\n"))
        #expect(request.contains("Stripe-Account: acct_1\r\n"))
        #expect(!request.contains("Idempotency-Key"))
    }

    @Test(
        "an organisation key names the account by Stripe-Context, and sends nothing without one"
    )
    func organisation() async throws {
        let reply = Self.okHead + "Content-Length: 2\r\n\r\n{}"
        try await ScriptedServer.withRunning(.bytes(reply, then: .silence)) { server in
            let configuration = StripeClientConfiguration(
                key: StripeKey("sk_org_test_1"),
                baseURL: server.address
            )
            let client = StripeClient(configuration: configuration)
            #expect(StripeKey("sk_org_live_1").isOrganization && !Self.key.isOrganization)
            let error = await #expect(throws: StripeError.self) {
                try await client.get("/v1/sources/src_1")
            }
            guard case .invalidRequest(let reason) = error else {
                return fail("\(String(describing: error))")
            }
            #expect(reason.contains("acct_") && server.requests.isEmpty)
            for account in ["acct_1", "acct_1/acct_2"] {
                _ = try await client.acting(for: account).get("/v1/sources/src_1")
                let request = try #require(server.requests.last)
                #expect(request.contains("Stripe-Context: \(account)\r\n"))
                #expect(!request.contains("Stripe-Account"))
            }
        }
    }

    @Test(
        "a secret is never sent as an ID",
        arguments: [
            "pi_1_secret_canary", "src_client_secret_canary", "sk_test_canary", "whsec_canary",
        ]
    )
    func secretAsID(_ id: String) async throws {
        try await ScriptedServer.withRunning(.bytes("", then: .silence)) { server in
            let error = await #expect(throws: StripeError.self) {
                try await client(server.address).retrievePaymentIntent(id)
            }
            guard case .invalidRequest(let reason) = error else {
                return fail("\(String(describing: error))")
            }
            #expect(!reason.contains("canary") && server.requests.isEmpty)
        }
    }

    @Test("a POST sends its form and an idempotency key")
    func post() async throws {
        let reply = Self.okHead + "Content-Length: 2\r\n\r\n{}"
        let request = try await ScriptedServer.withRunning(
            .bytes(reply, then: .silence)
        ) { server in
            _ = try await client(server.address)
                .post("/v1/sources", form: [("owner[name]", "Zoë & Co"), ("type", "ideal")])
            return try #require(server.requests.first)
        }
        #expect(request.contains("Idempotency-Key: made-key\r\n"))
        #expect(request.contains("Content-Type: application/x-www-form-urlencoded\r\n"))
        #expect(request.hasSuffix("owner[name]=Zo%C3%AB%20%26%20Co&type=ideal"))
    }

    @Test("a body that announces 1 GiB is dropped immediately")
    func announcedBody() async throws {
        let head = Self.okHead + "Content-Length: 1073741824\r\n\r\n{"
        let (error, took) = try await failure(head, then: .silence)
        #expect(error == .bodyTooLarge(limitBytes: 1 << 20))
        #expect(took < .seconds(20))
    }

    @Test("an endless body is cut off at the limit")
    func endless() async throws {
        // Without length and chunks the body lasts as long as the connection.
        let (error, _) = try await failure(Self.okHead + "\r\n{", then: .flood)
        #expect(error == .bodyTooLarge(limitBytes: 1 << 20))
    }

    @Test("a slow body ends at the deadline, not later")
    func slowBody() async throws {
        let head = Self.okHead + "Content-Length: 100000\r\n\r\n{"
        let (error, took) = try await failure(head, then: .drip, timeout: .milliseconds(300))
        #expect(kind(error) == .timeout)
        #expect(took >= .milliseconds(300))
        #expect(took < .seconds(20))
    }

    @Test("a silent server ends at the deadline")
    func silence() async throws {
        let (error, took) = try await failure("", then: .silence, timeout: .milliseconds(200))
        #expect(kind(error) == .timeout)
        #expect(took < .seconds(20))
    }

    @Test("a connection closed before or during the response is a reset")
    func closed() async throws {
        #expect(kind(try await failure("", then: .close).error) == .reset)
        let half = Self.okHead + "Content-Length: 100\r\n\r\n{\"id\":"
        #expect(kind(try await failure(half, then: .close).error) == .reset)
    }

    @Test("a server that does not speak HTTP is reported as notHTTP")
    func notHTTP() async throws {
        let (error, _) = try await failure("-ERR unknown command 'GET'\r\n", then: .silence)
        #expect(kind(error) == .notHTTP)
    }

    @Test("a refused connection fails immediately")
    func refused() async throws {
        // No server listens on port 1. A port that was free a moment ago may be another test's now.
        let error = await #expect(throws: StripeError.self) {
            try await client("http://127.0.0.1:1").get("/v1/sources/src_1")
        }
        #expect(kind(error) == .connection)
        let message = error.map { "\($0)" } ?? ""
        #expect(message.hasSuffix("Connection refused"), "\(message)")
    }

    @Test("a redirect is returned, never followed: the key stays with its host")
    func redirect() async throws {
        let response = try await ScriptedServer.withRunning(
            .bytes(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                then: .silence
            )
        ) { server in
            try await client(server.address).get("/v1/sources/src_1")
        }
        #expect(response.status == 302)
        #expect(throws: StripeError.self) { try response.decode(Source.self) }
    }

    @Test("a cancelled task ends its request")
    func cancelled() async throws {
        try await ScriptedServer.withRunning(.bytes("", then: .silence)) { server in
            let client = client(server.address, timeout: .seconds(60))
            let task = Task { () -> StripeError? in
                do throws(StripeError) {
                    _ = try await client.get("/v1/sources/src_1")
                    return nil
                } catch {
                    return error
                }
            }
            task.cancel()
            #expect(kind(await task.value) == .cancelled)
        }
    }

    @Test(
        "an invalid request has an error without the key",
        arguments: [
            ("sk_test_a b", "http://127.0.0.1:1", "/v1/x"), ("", "http://127.0.0.1:1", "/v1/x"),
            ("sk_test_a", "ftp://127.0.0.1", "/v1/x"), ("sk_test_a", "nonsense", "/v1/x"),
            ("sk_test_a", "http://127.0.0.1:1", "v1/x"),
            ("sk_test_a", "http://127.0.0.1:1", "/v1/a\r\nX: y"),
        ]
    )
    func unsendable(key: String, base: String, path: String) async {
        let configuration = StripeClientConfiguration(key: StripeKey(key), baseURL: base)
        let error = await #expect(throws: StripeError.self) {
            try await StripeClient(configuration: configuration).get(path)
        }
        guard case .invalidRequest(let reason) = error else {
            return fail("\(String(describing: error))")
        }
        #expect(!reason.contains("sk_test"))
    }

    @Test("an empty ID never becomes a request for the whole collection")
    func emptyID() async {
        await #expect(throws: StripeError.invalidRequest("the ID is empty or a dot segment")) {
            try await client("http://127.0.0.1:1").retrieveSource("")
        }
    }

    private func kind(_ error: StripeError?) -> TransportFailure.Kind? {
        guard case .transport(let failure) = error else { return nil }
        return failure.kind
    }
}
