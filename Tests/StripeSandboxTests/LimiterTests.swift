import HTTPTypes
import NIOCore
import Testing

@testable import StripeSandbox

@Suite struct LimiterTests {
    private func call(_ path: String, account: String? = nil) throws -> APICall {
        let request = APIRequest(
            HTTPRequest(
                method: .get,
                scheme: "http",
                authority: nil,
                path: path,
                headerFields: [.authorization: "Bearer sk_test_1"]
            ),
            path: path,
            query: nil,
            body: ByteBuffer(),
            base: ""
        )
        var call = try request.call.get()
        call.account = account
        return call
    }

    @Test("a rate allows one second's requests at once and refills over time")
    func rate() throws {
        var limiter = Limiter()
        limiter.limits = SandboxLimits(globalRate: 25)
        let call = try call("/v1/sources/src_1")
        for _ in 1...25 { #expect(limiter.refusal(call, machineMs: 0) == nil) }
        #expect(limiter.refusal(call, machineMs: 0) == "global-rate")
        #expect(limiter.refusal(call, machineMs: 39) == "global-rate")
        #expect(limiter.refusal(call, machineMs: 80) == nil)
        // After any idle time, only one second's requests are available.
        var allowed = 0
        while limiter.refusal(call, machineMs: 1_000_000) == nil { allowed += 1 }
        #expect(allowed == 25)
    }

    @Test("an endpoint is an operation regardless of the ID, and accounts are counted separately")
    func endpoints() throws {
        var limiter = Limiter()
        limiter.limits = SandboxLimits(endpointRate: 1)
        #expect(limiter.refusal(try call("/v1/sources/src_1"), machineMs: 0) == nil)
        #expect(
            limiter.refusal(try call("/v1/sources/src_2"), machineMs: 0) == "endpoint-rate"
        )
        #expect(limiter.refusal(try call("/v1/charges/ch_1"), machineMs: 0) == nil)
        #expect(limiter.refusal(try call("/v1/sources"), machineMs: 0) == nil)
        #expect(
            limiter.refusal(try call("/v1/sources/src_1/source_transactions"), machineMs: 0) == nil
        )
        #expect(
            limiter.refusal(try call("/v1/sources/src_2", account: "acct_1"), machineMs: 0) == nil
        )
    }

    @Test("requests in flight count until they end")
    func concurrency() throws {
        var limiter = Limiter()
        limiter.limits = SandboxLimits(globalConcurrency: 3, endpointConcurrency: 2)
        let source = try call("/v1/sources/src_1")
        let charge = try call("/v1/charges/ch_1")
        limiter.enter(source)
        limiter.enter(source)
        #expect(limiter.refusal(source, machineMs: 0) == "endpoint-concurrency")
        #expect(limiter.refusal(charge, machineMs: 0) == nil)
        limiter.enter(charge)
        #expect(limiter.refusal(charge, machineMs: 0) == "global-concurrency")
        limiter.leave(source)
        limiter.leave(charge)
        #expect(limiter.refusal(source, machineMs: 0) == nil)
    }
}
