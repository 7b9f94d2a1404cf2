import Poller
import Testing

@testable import PollerUpstreams

@Suite("How near its end a status is")
struct StripeStatusesTests {
    @Test(
        "by kind; an intent that needs another payment method goes on",
        arguments: [
            (.source, "pending", .pending), (.source, "chargeable", .leftPending),
            (.source, "consumed", .final), (.source, "canceled", .final),
            (.source, "failed", .final), (.source, "brand_new", .leftPending),
            (.paymentIntent, "requires_payment_method", .pending),
            (.paymentIntent, "requires_confirmation", .pending),
            (.paymentIntent, "requires_action", .pending),
            (.paymentIntent, "processing", .pending),
            (.paymentIntent, "requires_capture", .leftPending),
            (.paymentIntent, "succeeded", .final), (.paymentIntent, "canceled", .final),
            (.setupIntent, "requires_action", .pending), (.setupIntent, "processing", .pending),
            (.setupIntent, "succeeded", .final), (.setupIntent, "canceled", .final),
            (.charge, "pending", .pending), (.charge, "succeeded", .final),
            (.charge, "failed", .final),
        ] as [(SourceKind, String, StatusRank)]
    )
    func table(kind: SourceKind, status: String, rank: StatusRank) {
        let status = SourceStatus(unchecked: status)
        #expect(StripeStatuses.rank(status, of: kind, usage: "single_use") == rank)
    }

    @Test("a reusable source stays chargeable; one that is pending has not come so far")
    func reusable() {
        let chargeable = SourceStatus(unchecked: "chargeable")
        #expect(StripeStatuses.rank(chargeable, of: .source, usage: "reusable") == .steady)
        #expect(StripeStatuses.rank(chargeable, of: .source, usage: nil) == .leftPending)
        let pending = SourceStatus(unchecked: "pending")
        #expect(StripeStatuses.rank(pending, of: .source, usage: "reusable") == .pending)
        let failed = SourceStatus(unchecked: "failed")
        #expect(StripeStatuses.rank(failed, of: .source, usage: "reusable") == .final)
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
