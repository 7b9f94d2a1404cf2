import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

@Suite struct SandboxAPITests {
    private func status(_ error: StripeError?) -> Int? {
        guard case .api(let failure) = error else { return nil }
        return failure.status
    }

    @Test("a missing or live key is rejected with 401, an unknown ID with 404")
    func refusals() async throws {
        try await SandboxProbe.run { probe in
            let keyless = try await probe.send(.GET, "/v1/sources/src_1")
            #expect(keyless.status == 401)
            let foreign = await #expect(throws: StripeError.self) {
                try await probe.client("sk_other_0123456789").retrieveSource("src_1")
            }
            #expect(status(foreign) == 401)
            let unknown = await #expect(throws: StripeError.self) {
                try await probe.client().retrieveSource("src_1")
            }
            #expect(status(unknown) == 404)
            #expect(try await probe.client().get("/v1/sources").status == 404)
            #expect(try await probe.client().get("/v1/nothing").status == 404)
        }
    }

    @Test("the same seed produces the same IDs")
    func seeded() async throws {
        let configuration = SandboxConfiguration(seed: 7)
        let first = try await SandboxProbe.run(configuration) { try await $0.makeSource().id }
        let second = try await SandboxProbe.run(configuration) { try await $0.makeSource().id }
        let other = try await SandboxProbe.run { try await $0.makeSource().id }
        #expect(first == second)
        #expect(first != other)
    }
}
