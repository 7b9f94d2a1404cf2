import Foundation
import StripeAPI
import Testing

/// Typed fields of objects about money: disputes, charges, transfers, mandates and migrations.
@Suite struct MoneyTests {
    private func decode<Value: Decodable>(_ json: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(json.utf8))
    }

    @Test("a dispute has its status, evidence deadline and balance transactions")
    func dispute() throws {
        let dispute: Dispute = try decode(
            #"""
            {"id":"dp_1","object":"dispute","amount":1099,"currency":"eur","charge":{"id":"ch_1"},
             "payment_intent":"pi_1","reason":"fraudulent","status":"NEEDS_RESPONSE","created":5,
             "evidence_details":{"due_by":9,"has_evidence":false,"past_due":false,"submission_count":0},
             "is_charge_refundable":false,"livemode":false,"metadata":{},
             "balance_transactions":[{"id":"txn_1","amount":-1099,"net":-2599,"fee":1500,"type":"adjustment",
             "reporting_category":"dispute","source":"dp_1","currency":"eur","created":5,"status":"pending"}]}
            """#
        )
        #expect(dispute.status == .needsResponse)
        #expect(!dispute.status.isInquiry && !dispute.status.isClosed)
        #expect(dispute.charge == "ch_1" && dispute.paymentIntent == "pi_1")
        #expect(dispute.evidenceDetails?.dueBy == 9)
        #expect(dispute.balanceTransactions?.map(\.net) == [-2599])
        #expect(dispute.balanceTransactions?.first?.type == .adjustment)
    }

    @Test(
        "each dispute status is an inquiry or not, and closed or not",
        arguments: [
            ("warning_needs_response", true, false), ("warning_under_review", true, false),
            ("warning_closed", true, true), ("needs_response", false, false),
            ("under_review", false, false), ("won", false, true), ("lost", false, true),
            ("prevented", false, true), ("appeal_under_review", false, false),
        ]
    )
    func statuses(word: String, isInquiry: Bool, isClosed: Bool) {
        let status = DisputeStatus(rawValue: word)
        #expect(status.isKnown)
        #expect((status.isInquiry, status.isClosed) == (isInquiry, isClosed))
    }

    @Test("a charge has its capture deadline and decline reason")
    func charge() throws {
        let charge: Charge = try decode(
            #"""
            {"id":"ch_1","status":"failed","livemode":false,"outcome":{"reason":"insufficient_funds"},
             "payment_method_details":{"type":"card","card":{"capture_before":77}}}
            """#
        )
        #expect(charge.methodType == "card")
        #expect(charge.captureBefore == 77)
        #expect(charge.declineReason == "insufficient_funds")
    }

    @Test("a SEPA credit transfer has typed account details")
    func transfer() throws {
        let source: Source = try decode(
            #"""
            {"id":"src_1","type":"sepa_credit_transfer","status":"pending","livemode":false,
             "sepa_credit_transfer":{"bank_name":"B","bic":"SOGEDEFF","iban":"DE89","refund_iban":"DE12",
             "refund_account_holder_name":"Jenny"}}
            """#
        )
        let details = try #require(source.sepaCreditTransferDetails)
        #expect((details.bankName, details.bic, details.iban) == ("B", "SOGEDEFF", "DE89"))
        #expect((details.refundAccountHolderName, details.refundIBAN) == ("Jenny", "DE12"))
        #expect("\(details)" == "SourceSEPACreditTransferDetails (redacted)")
    }

    @Test("a mandate notification has creditor, account and mandate reference")
    func mandateNotification() throws {
        let notice: MandateNotification = try decode(
            #"""
            {"id":"srcmn_1","livemode":false,"type":"sepa_debit","reason":"debit_initiated","amount":5,
             "sepa_debit":{"creditor_identifier":"DE98","last4":"3000","mandate_reference":"NX"}}
            """#
        )
        #expect(notice.sepaDebit?.creditorIdentifier == "DE98")
        #expect(notice.sepaDebit?.mandateReference == "NX")
    }

    @Test(
        "every known Source type has a migration",
        arguments: SourceType.known.sorted()
    )
    func migration(word: String) throws {
        let migration = try #require(SourceType(rawValue: word).migration)
        #expect(!migration.paymentMethod.isEmpty && migration.advice.hasSuffix("."))
        #expect(SourceType(rawValue: "bitcoin").migration == nil)
    }

    @Test("an intent of an old API version has its next action")
    func oldIntent() throws {
        let intent: PaymentIntent = try decode(
            #"""
            {"id":"pi_1","status":"requires_source_action","livemode":false,"next_source_action":
             {"type":"redirect_to_url","redirect_to_url":{"url":"https://bank.example/1"}}}
            """#
        )
        #expect(intent.status == .requiresSourceAction)
        #expect(intent.nextAction?.redirectToURL?.url == "https://bank.example/1")
    }

    @Test("the payment event types are unique and include disputes and refunds")
    func types() {
        #expect(Set(EventTypes.payments).count == EventTypes.payments.count)
        #expect(EventTypes.payments.contains("charge.dispute.closed"))
        #expect(EventTypes.payments.contains("refund.failed"))
    }
}
