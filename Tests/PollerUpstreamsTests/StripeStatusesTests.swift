import Poller
import Testing

@testable import PollerUpstreams

@Suite("Which statuses are final")
struct StripeStatusesTests {
    @Test(
        "by kind; an intent that needs another payment method goes on",
        arguments: [
            (.source, "pending", false), (.source, "chargeable", false),
            (.source, "consumed", true), (.source, "canceled", true), (.source, "failed", true),
            (.paymentIntent, "requires_payment_method", false),
            (.paymentIntent, "requires_confirmation", false),
            (.paymentIntent, "requires_action", false), (.paymentIntent, "processing", false),
            (.paymentIntent, "requires_capture", false), (.paymentIntent, "succeeded", true),
            (.paymentIntent, "canceled", true), (.setupIntent, "requires_action", false),
            (.setupIntent, "processing", false), (.setupIntent, "succeeded", true),
            (.setupIntent, "canceled", true), (.charge, "pending", false),
            (.charge, "succeeded", true), (.charge, "failed", true), (.source, "brand_new", false),
        ] as [(SourceKind, String, Bool)]
    )
    func table(kind: SourceKind, status: String, isFinal: Bool) {
        let status = SourceStatus(unchecked: status)
        #expect(StripeStatuses.isFinal(status, of: kind, usage: "single_use") == isFinal)
    }

    @Test("a reusable source that is chargeable has settled; one that is pending has not")
    func reusable() {
        let chargeable = SourceStatus(unchecked: "chargeable")
        #expect(StripeStatuses.isFinal(chargeable, of: .source, usage: "reusable"))
        #expect(!StripeStatuses.isFinal(chargeable, of: .source, usage: nil))
        let pending = SourceStatus(unchecked: "pending")
        #expect(!StripeStatuses.isFinal(pending, of: .source, usage: "reusable"))
    }

    @Test(
        "an id's prefix tells the kind",
        arguments: [
            ("src_1", .source), ("pi_1", .paymentIntent), ("seti_1", .setupIntent),
            ("ch_1", .charge), ("py_1", .charge), ("order-1", nil),
        ] as [(String, SourceKind?)]
    )
    func kinds(id: String, kind: SourceKind?) {
        #expect(SourceKind(inferredFrom: SourceID(unchecked: id)) == kind)
    }
}
