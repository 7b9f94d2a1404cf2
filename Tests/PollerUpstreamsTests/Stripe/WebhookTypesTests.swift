import StripeAPI
import Testing

@testable import PollerUpstreams

/// Tests the event types of the sweep against those recommended to operators.
@Suite struct WebhookTypesTests {
    @Test("the sweep reads only event types that endpoints are advised to have")
    func sweep() {
        #expect(Set(StripeEvents.types).subtracting(EventTypes.payments).isEmpty)
        #expect(Set(StripeEvents.moneyTypes).subtracting(EventTypes.payments).isEmpty)
        // The limit of one request.
        #expect(max(StripeEvents.types.count, StripeEvents.moneyTypes.count) <= 20)
    }
}
