import NIOHTTP1
import Poller
import PollerIdentity
import Testing

@testable import PollerUpstreams

extension StripeUpstreamTests {
    @Test(
        "a proxy's page in place of Stripe's response is malformed",
        arguments: [301, 302, 307, 400, 402, 404, 405, 413, 451]
    )
    func proxied(status: Int) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault("html", ",\"status\":\(status)")
            let result = await rig.poll()
            #expect(result.name == "malformed", "\(result)")
        }
    }

    @Test(
        "the reason of a 429 decides whether it limits the lane or the object",
        arguments: [
            ("global-rate", "rate_limited"), ("global-concurrency", "rate_limited"),
            ("endpoint-rate", "rate_limited"), ("endpoint-concurrency", "rate_limited"),
            ("resource-specific", "object_limited"), ("Resource-Specific", "object_limited"),
            ("something-new", "rate_limited"),
        ]
    )
    func limitReasons(reason: String, name: String) async throws {
        try await UpstreamRig.run { rig in
            try await rig.fault("rate_limit", ",\"reason\":\"\(reason)\"")
            #expect(await rig.poll().name == name)
        }
    }

    @Test("a limit of one object has the delay that it names")
    func objectLimit() async throws {
        try await UpstreamRig.run { rig in
            let headers = #"{"Stripe-Rate-Limited-Reason":"resource-specific","Retry-After":"7"}"#
            try await rig.fault("status", ",\"status\":429,\"headers\":\(headers)")
            #expect(await rig.poll() == .objectLimited(retryAfter: .seconds(7)))
        }
    }

    @Test("an account's rate limit holds its other lanes for a second, an endpoint's does not")
    func accountLimits() async throws {
        try await UpstreamRig.run { rig in
            let upstream = rig.upstream()
            let others = rig.watch("pi_unknown", kind: .paymentIntent)
            try await rig.fault("rate_limit", ",\"reason\":\"endpoint-rate\"")
            #expect(await upstream.poll(rig.watch(), timeout: .seconds(8)).name == "rate_limited")
            #expect(await upstream.poll(others, timeout: .seconds(8)) == .gone)
            try await rig.clearFaults()
            try await rig.fault("rate_limit", ",\"reason\":\"global-rate\"")
            #expect(await upstream.poll(rig.watch(), timeout: .seconds(8)).name == "rate_limited")
            let held = await upstream.poll(others, timeout: .seconds(8))
            #expect(held == .rateLimited(retryAfter: .seconds(1)))
            // Another process has not observed the limit.
            #expect(await rig.poll("pi_unknown", kind: .paymentIntent) == .gone)
        }
    }

    @Test("a compressed body is malformed with its encoding, and no compression was requested")
    func encoded() async throws {
        try await StubServer.run { server in
            server.answer(
                StubServer.Answer(
                    headers: [("content-type", "application/json"), ("content-encoding", "gzip")],
                    body: #"{"id":"src_1","status":"pending"}"#
                )
            )
            let rig = UpstreamRig(stub: server)
            guard case .malformed(let reason) = await rig.poll() else { return fail("it was read") }
            #expect(reason.contains("encoded as gzip"))
            let sent = try #require(server.requests.first)
            #expect(sent.headers.first(name: "accept-encoding") == "identity")
        }
    }

    @Test(
        "a page in place of a list read with the object makes the poll fail",
        arguments: [
            (200, "text/html", "<p>"), (302, "text/html", ""), (400, "text/html", "<p>"),
            (404, "text/html", "<p>"), (408, "text/plain", ""), (500, "text/html", "<p>"),
            (200, "application/json", #"{"status":"maintenance"}"#),
            (200, "application/json", #"{"object":"list","da"#),
        ] as [(Int, String, String)]
    )
    func additionalReadByPage(status: Int, type: String, body: String) async throws {
        let charge = #"""
            {"id":"ch_1","object":"charge","status":"succeeded","amount":1000,"amount_captured":1000,
             "captured":true,"disputed":true,"currency":"eur"}
            """#
        try await StubServer.run { server in
            let page = StubServer.Answer(
                status: status,
                headers: [("content-type", type)],
                body: body
            )
            server.answer(by: { request in
                request.uri.contains("/disputes") ? page : StubServer.Answer(body: charge)
            })
            let paged = await UpstreamRig(stub: server).poll("ch_1", kind: .charge)
            #expect(["malformed", "unavailable"].contains(paged.name), "\(paged)")
            // If the key cannot read disputes, the charge's own facts are reported.
            server.answer(by: { request in
                request.uri.contains("/disputes")
                    ? StubServer.Answer(status: 403, body: #"{"error":{"type":"api_error"}}"#)
                    : StubServer.Answer(body: charge)
            })
            let barred = await UpstreamRig(stub: server).poll("ch_1", kind: .charge)
            #expect(barred.name == "observed", "\(barred)")
        }
    }

    @Test("a page of disputes with much evidence is read with its charge")
    func largePage() async throws {
        let charge = #"""
            {"id":"ch_1","object":"charge","status":"succeeded","amount":1000,"amount_captured":1000,
             "captured":true,"disputed":true,"currency":"eur"}
            """#
        try await StubServer.run { server in
            let text = String(repeating: "e", count: 20_000)
            let disputes = (1...60).map { number in
                #"{"id":"du_\#(number)","object":"dispute","status":"under_review","amount":1,"#
                    + #""evidence":{"uncategorized_text":"\#(text)"}}"#
            }
            let data = disputes.joined(separator: ",")
            let page = #"{"object":"list","data":[\#(data)],"has_more":false}"#
            server.answer(by: { request in
                StubServer.Answer(body: request.uri.contains("/disputes") ? page : charge)
            })
            let polled = await UpstreamRig(stub: server).poll("ch_1", kind: .charge)
            #expect(polled.name == "observed", "\(polled.name)")
        }
    }

    @Test("the expiry of a source is calculated with Stripe's clock if the response has a date")
    func stripesClock() async throws {
        // iDEAL expires after an hour. Stripe's clock shows half an hour after the creation, the local clock days.
        let made: Int64 = 794_000_000
        let date = "Tue, 28 Feb 1995 20:03:20 GMT"
        try await StubServer.run { server in
            for (header, left) in [(date, 1800), ("yesterday", nil)] as [(String, Int64?)] {
                server.answer(
                    StubServer.Answer(
                        headers: [("content-type", "application/json"), ("date", header)],
                        body: """
                            {"id":"src_1","type":"ideal","status":"pending","created":\(made),\
                            "usage":"single_use"}
                            """
                    )
                )
                guard case .observed(let seen) = await UpstreamRig(stub: server).poll() else {
                    return fail("not observed")
                }
                let now = Timestamp(ms: 0)
                let end = try #require(seen.converted(at: now).expiresAt)
                // Without a date from Stripe the local clock counts.
                let ours = made + 3600 - 1_795_000_000
                #expect(end - now == .seconds(left ?? ours), "\(header)")
            }
        }
    }
}
