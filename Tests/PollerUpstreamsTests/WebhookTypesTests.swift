import StripeAPI
import Testing

@testable import PollerUpstreams

/// What is listened to, and what operators are told to subscribe their endpoints to.
@Suite struct WebhookTypesTests {
    @Test("the sweep asks for nothing that an endpoint need not have")
    func sweep() {
        #expect(Set(StripeEvents.types).subtracting(EventTypes.payments).isEmpty)
        #expect(Set(StripeEvents.moneyTypes).subtracting(EventTypes.payments).isEmpty)
        // What one request may have.
        #expect(max(StripeEvents.types.count, StripeEvents.moneyTypes.count) <= 20)
    }
}
