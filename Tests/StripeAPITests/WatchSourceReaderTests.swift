import StripeAPI
import Testing

/// The poller reading from this project's API instead of Stripe's.
@Suite struct WatchSourceReaderTests {
    private func watch(
        _ status: String,
        seq: Int,
        state: String = "open",
        reason: String = ""
    ) -> ScriptedServer.Reply {
        let object = #"{"id":"src_1","type":"ideal","status":"\#(status)","livemode":false}"#
        let more = reason.isEmpty ? "" : #","closed_reason":"\#(reason)""#
        return .json(
            200,
            #"{"id":"w","source":"src_1","state":"\#(state)","status":"\#(status)","seq":\#(seq),"#
                + #""object":\#(object)\#(more)}"#
        )
    }

    private func poll(
        _ server: ScriptedServer,
        account: String? = nil
    ) async -> SourcePollResult {
        let reader = WatchSourceReader(
            baseURL: server.address + "/",
            apiKey: StripeKey("pk_cluster_1"),
            account: account
        )
        return await SourcePoller(reader: reader, clock: TestClock())
            .startPollingSource(
                withId: "src_1",
                clientSecret: ClientSecret(rawValue: "S3CRET"),
                timeout: .seconds(20)
            )
    }

    @Test("the server is asked to wait for a change after the last seq")
    func follow() async throws {
        try await ScriptedServer.withRunning(
            watch("pending", seq: 1),
            .json(304, ""),
            watch("chargeable", seq: 2)
        ) { server in
            let result = await poll(server, account: "acct_1")
            #expect(result.end == .leftPending)
            #expect(result.source?.status == .chargeable)
            let lines = server.requests.map { $0.prefix { $0 != "\r\n" } }
            #expect(lines[0] == "GET /v1/watches/src_1?kind=source&account=acct_1 HTTP/1.1")
            #expect(lines[1].contains("&after_seq=1&wait="))
            #expect(lines[2].contains("&after_seq=1&wait="))
            let text = server.requests.joined()
            #expect(text.contains("Authorization: Bearer pk_cluster_1\r\n"))
            #expect(!text.contains("S3CRET"))
        }
    }

    @Test("a watch closed without an outcome ends polling, with the reason")
    func closed() async throws {
        try await ScriptedServer.withRunning(
            watch("pending", seq: 1, state: "closed", reason: "expired")
        ) { server in
            let result = await poll(server)
            #expect(result.end == .closed(reason: "expired"))
            #expect(result.source?.status == .pending)
            #expect(result.error == nil)
        }
    }

    @Test("a source without a first poll is polled again")
    func unknownYet() async throws {
        try await ScriptedServer.withRunning(
            .json(200, #"{"state":"open","status":null,"seq":0}"#),
            watch("failed", seq: 1)
        ) { server in
            #expect(await poll(server).source?.status == .failed)
            #expect(server.requests[1].contains("after_seq=0"))
        }
    }

    @Test("an unwatched source is an error with the status of the response")
    func unwatched() async throws {
        try await ScriptedServer.withRunning(
            .json(404, #"{"code":"watch_not_found","status":404}"#)
        ) { server in
            let result = await poll(server)
            #expect(result.end == .failed)
            #expect(result.error?.status == 404)
            #expect(server.requests.count == 1)
        }
    }

    @Test("a cluster with too many waiting requests is polled again, less often")
    func busy() async throws {
        try await ScriptedServer.withRunning(
            .json(503, "{}"),
            watch("consumed", seq: 3)
        ) { server in
            #expect(await poll(server).source?.status == .consumed)
        }
    }
}
