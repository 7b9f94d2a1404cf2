import Foundation
import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

@Suite struct SandboxControlTests {
    private func get(
        _ probe: SandboxProbe,
        _ id: String,
        timeout: Duration = .seconds(60)
    ) async
        -> StripeError?
    {
        do {
            _ = try await probe.client(timeout: timeout).retrieveSource(id)
            return nil
        } catch {
            return error
        }
    }

    /// Sends a request to which a fault applies and a second one, and returns the client's result of the first.
    private func requestWithFault(
        _ fault: String,
        timeout: Duration = .seconds(60)
    ) async throws
        -> StripeError?
    {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            let body = #"{"match":"/v1/sources/\#(id)","times":1,\#(fault)}"#
            #expect(try await probe.control(.POST, "faults", body).status == 201)
            let error = await get(probe, id, timeout: timeout)
            #expect(await get(probe, id) == nil, "the fault must be used up")
            return error
        }
    }

    @Test("a status fault returns its status once")
    func statusFault() async throws {
        let error = try await requestWithFault(
            #""mode":"status","status":429,"headers":{"Stripe-Rate-Limited-Reason":"global-rate","Retry-After":"2"}"#
        )
        guard case .api(let failure) = error else { return fail("\(String(describing: error))") }
        #expect(failure.status == 429)
        #expect(failure.error?.code == "rate_limit")
        #expect(failure.headers.rateLimitedReason == "global-rate")
        #expect(failure.headers.retryAfter == "2")
    }

    @Test("the body of a status fault is sent unchanged")
    func statusBody() async throws {
        let error = try await requestWithFault(
            #""mode":"status","status":429,"body":{"error":{"type":"invalid_request_error","code":"lock_timeout"}}"#
        )
        guard case .api(let failure) = error else { return }
        #expect(failure.error?.code == "lock_timeout")
        #expect(failure.headers.rateLimitedReason == nil)
    }

    @Test(
        "closed connections are resets for the client",
        arguments: [#""mode":"reset""#, #""mode":"truncated""#]
    )
    func closedConnection(fault: String) async throws {
        guard case .transport(let failure) = try await requestWithFault(fault) else {
            return fail("the request went through")
        }
        #expect(failure.kind == .reset)
    }

    @Test(
        "half JSON, HTML, wrong types and wrong content types are malformed",
        arguments: [
            (#""mode":"half_json""#, nil), (#""mode":"html""#, nil),
            (#""mode":"wrong_type""#, "id"), (#""mode":"wrong_content_type""#, nil),
        ] as [(String, String?)]
    )
    func malformed(fault: String, field: String?) async throws {
        let error = try await requestWithFault(fault)
        guard case .malformed(let body) = error else { return fail("\(String(describing: error))") }
        #expect(body.field == field)
    }

    @Test(
        "a limiter responds with its reason",
        arguments: [
            StripeLimitReason.globalRate, .globalConcurrency, .endpointRate, .endpointConcurrency,
            .resourceSpecific,
        ]
    )
    func limiters(reason: StripeLimitReason) async throws {
        let error = try await requestWithFault(#""mode":"rate_limit","reason":"\#(reason)""#)
        guard case .api(let failure) = error else { return fail("\(String(describing: error))") }
        #expect(failure.status == 429 && failure.error?.code == "rate_limit")
        #expect(failure.headers.limitReason == reason && reason.isKnown)
    }

    @Test("a compressed body is unchanged after decompression")
    func gzip() async throws {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            let fault = #"{"match":"/v1/sources/\#(id)","times":1,"mode":"gzip"}"#
            #expect(try await probe.control(.POST, "faults", fault).status == 201)
            let key: HTTPHeaders = ["authorization": "Bearer sk_test_0123456789abcdef"]
            let packed = try await probe.send(.GET, "/v1/sources/\(id)", headers: key)
            let plain = try await probe.send(.GET, "/v1/sources/\(id)", headers: key)
            #expect(packed.headers.first(name: "content-encoding") == "gzip")
            #expect(plain.headers.first(name: "content-encoding") == nil)
            // A member with one stored block: ten bytes, five, the body, a checksum and a length.
            #expect(packed.body.prefix(3) == Data([0x1f, 0x8b, 8]))
            #expect(packed.body.dropFirst(15).dropLast(8) == plain.body)
        }
    }

    @Test("an object is missing until some time after its first read")
    func notYet() async throws {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            let fault = #"{"match":"/v1/sources/","mode":"not_yet","delay_ms":300}"#
            #expect(try await probe.control(.POST, "faults", fault).status == 201)
            guard case .api(let failure)? = await get(probe, id) else {
                return fail("the object was available immediately")
            }
            #expect(failure.status == 404 && failure.error?.code == "resource_missing")
            #expect(try await probe.makeSource().id != id)
            let clock = ContinuousClock()
            let end = clock.now + .seconds(30)
            while await get(probe, id) != nil, clock.now < end { await Task.yield() }
            #expect(await get(probe, id) == nil)
        }
    }

    @Test("a 1 GiB body ends at the client's limit, a slow body at its deadline")
    func bodies() async throws {
        #expect(
            try await requestWithFault(#""mode":"huge_body""#) == .bodyTooLarge(limitBytes: 1 << 20)
        )
        let slow = try await requestWithFault(
            #""mode":"slow_body","delay_ms":50"#,
            timeout: .milliseconds(250)
        )
        guard case .transport(let failure) = slow else {
            return fail("\(String(describing: slow))")
        }
        #expect(failure.kind == .timeout)
    }

    @Test("a held request is logged at once and answered with the state at its release")
    func hang() async throws {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            let path = "/v1/sources/\(id)"
            let (_, fault) = try await probe.control(
                .POST,
                "faults",
                #"{"match":"\#(path)","mode":"hang"}"#
            )
            async let held = probe.client().retrieveSource(id)
            _ = try await probe.eventually {
                let (_, seen) = try await probe.control(.GET, "requests?path=\(path)")
                guard case .array(let requests) = seen["data"], requests.count == 1 else {
                    return nil as JSONValue?
                }
                #expect(requests[0]["status"] == .null)
                return requests[0]
            }
            _ = try await probe.control(
                .POST,
                "sources/\(id)/status",
                #"{"status":"chargeable"}"#
            )
            let name = try #require(fault["id"]?.string)
            _ = try await probe.control(.DELETE, "faults/\(name)")
            #expect(try await held.status == .chargeable)
        }
    }

    @Test("a fault with limited uses takes precedence over an unlimited one")
    func precedence() async throws {
        try await SandboxProbe.run { probe in
            let id = try await probe.makeSource().id
            for members in [#""status":503"#, #""status":418,"times":1"#] {
                let body = #"{"match":"/v1/sources/\#(id)","mode":"status",\#(members)}"#
                _ = try await probe.control(.POST, "faults", body)
            }
            var statuses: [Int] = []
            for _ in 0..<3 {
                if case .api(let failure) = await get(probe, id) { statuses.append(failure.status) }
            }
            #expect(statuses == [418, 503, 503])
        }
    }

    @Test("a fault with `after` keeps the effect of the request")
    func lostResponse() async throws {
        try await SandboxProbe.run { probe in
            let body =
                #"{"match":"/v1/sources","method":"POST","mode":"reset","after":true,"times":1}"#
            _ = try await probe.control(.POST, "faults", body)
            let form = [("type", "card")]
            let lost = await #expect(throws: StripeError.self) {
                try await probe.client().createSource(form, idempotencyKey: "once")
            }
            guard case .transport = lost else { return fail("\(String(describing: lost))") }
            let again = try await probe.client()
                .post("/v1/sources", form: form, idempotencyKey: "once")
            #expect(again.headers.idempotentReplayed)
        }
    }

    @Test("the history lists every status change in order, with its time")
    func history() async throws {
        try await SandboxProbe.run(SandboxConfiguration(nowMs: { 1_700_000_000_123 })) { probe in
            let id = try await probe.makeSource().id
            for status in ["chargeable", "consumed"] {
                _ = try await probe.control(
                    .POST,
                    "sources/\(id)/status",
                    #"{"status":"\#(status)"}"#
                )
            }
            let (_, body) = try await probe.control(.GET, "history?source=\(id)")
            guard case .array(let changes) = body["data"] else { return fail("\(body)") }
            #expect(changes.map { $0["status"]?.string } == ["pending", "chargeable", "consumed"])
            #expect(changes.map { $0["previous"]?.string } == [nil, "pending", "chargeable"])
            #expect(changes.map { $0["seq"] } == [.integer(1), .integer(2), .integer(3)])
            #expect(changes[2]["at_ms"] == .integer(1_700_000_000_123))
            let (_, rest) = try await probe.control(.GET, "history?since=2")
            guard case .array(let last) = rest["data"] else { return }
            #expect(last.count == 1)
        }
    }

    @Test("a page beyond the newest entry is empty", arguments: [1, 99, Int.max])
    func emptyWindow(since: Int) async throws {
        try await SandboxProbe.run { probe in
            let (status, body) = try await probe.control(.GET, "requests?since=\(since)")
            #expect(status == 200)
            #expect(body["data"] == .array([]))
            #expect(body["has_more"] == .bool(false))
        }
    }

    @Test("bulk creates pending sources that can be read normally")
    func bulk() async throws {
        try await SandboxProbe.run { probe in
            let (status, body) = try await probe.control(
                .POST,
                "bulk",
                #"{"count":1000,"type":"sofort"}"#
            )
            #expect(status == 201)
            guard case .array(let ids) = body["ids"] else { return }
            #expect(Set(ids).count == 1000)
            let source = try await probe.client().retrieveSource(ids[999].string ?? "")
            #expect(source.type == .sofort)
            #expect(source.status == .pending)
        }
    }

    @Test(
        "invalid controls are rejected and change nothing",
        arguments: [
            ("sources/src_none/status", #"{"status":"chargeable"}"#, 404),
            ("sources/src_none/status", #"{"status":"perfect"}"#, 400),
            ("bulk", #"{"count":0}"#, 400), ("bulk", #"{"count":100000000}"#, 400),
            ("bulk", "{", 400), ("faults", #"{"match":"/","mode":"explode"}"#, 400),
            ("faults", #"{"match":"/","mode":"status","times":-1}"#, 400), ("nothing", "{}", 404),
        ]
    )
    func invalidControls(path: String, body: String, expected: Int) async throws {
        try await SandboxProbe.run { probe in
            let answer = try await probe.control(.POST, path, body)
            #expect(answer.status == expected)
        }
    }
}
