import PollerIdentity
import PollerPayments
import Testing

@Suite("Life of a payment")
struct PaymentLifetimeTests {
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour
    private let begun = Timestamp(ms: 1_796_083_200_000)

    private func life(
        _ kind: SourceKind,
        _ status: String,
        _ method: String?,
        _ change: (inout PaymentFacts) -> Void = { _ in }
    ) -> PaymentLifetime {
        var facts = PaymentFacts(kind: kind)
        facts.status = SourceStatus(unchecked: status)
        facts.usage = .singleUse
        facts.method = PaymentMethod(method)
        facts.amount = 1000
        facts.created = begun
        facts.seenAt = begun
        change(&facts)
        return PaymentLifetime(facts, Payment(facts.following(nil)), now: begun)
    }

    private func hours(_ at: Timestamp?) -> Int64? { at.map { ($0 - begun).ms / Self.hour } }
    private func days(_ count: Int64) -> Int64? { count * 24 }

    @Test("a payment ends when the upstream ends it, and otherwise after thirty days")
    func ends() {
        #expect(hours(life(.source, "pending", "ideal").endsAt) == 1)
        #expect(hours(life(.source, "chargeable", "ideal").endsAt) == 7)
        #expect(hours(life(.source, "pending", "multibanco").endsAt) == days(7))
        #expect(hours(life(.source, "pending", "newpay").endsAt) == days(30))
        #expect(life(.source, "pending", "newpay").expiresAt == nil)
        #expect(life(.source, "chargeable", "card") { $0.usage = .reusable }.expiresAt == nil)
        #expect(hours(life(.paymentIntent, "requires_payment_method", nil).endsAt) == days(30))
        let voucher = life(.paymentIntent, "requires_action", "oxxo") { facts in
            var voucher = NextStep.Voucher()
            voucher.until = begun + .seconds(3 * 86_400)
            facts.step = .payVoucher(voucher)
        }
        #expect(hours(voucher.endsAt) == days(3))
        #expect(life(.source, "failed", "ideal").endsAt == nil)
        #expect(life(.source, "canceled", "ideal").endsAt == nil)
        let failed = life(.paymentIntent, "requires_payment_method", "card") {
            $0.failure = PaymentFacts.Failure(code: "card_declined")
        }
        #expect(hours(failed.endsAt) == days(30))
    }

    @Test("processing lasts as long as the payment method allows")
    func processing() {
        #expect(hours(life(.source, "consumed", "sofort").endsAt) == days(14))
        #expect(hours(life(.paymentIntent, "processing", "sepa_debit").endsAt) == days(24))
        #expect(hours(life(.paymentIntent, "processing", "card").endsAt) == days(30))
        #expect(hours(life(.paymentIntent, "processing", nil).endsAt) == days(30))
    }

    @Test("a paid payment is not polled, and may be returned for its method's span")
    func comesBack() {
        let spans: [(String, Int64?)] = [
            ("card", 150), ("sepa_debit", 400), ("us_bank_account", 70), ("ideal", nil),
            ("newpay", 150),
        ]
        for (method, days) in spans {
            let life = life(.paymentIntent, "succeeded", method) { $0.received = 1000 }
            #expect(life.endsAt == nil && life.expiresAt == nil, "\(method)")
            #expect(hours(life.reversibleUntil) == days.map { $0 * 24 }, "\(method)")
        }
        #expect(life(.paymentIntent, "processing", "card").reversibleUntil == nil)
    }

    @Test("changes are awaited while money may arrive, be returned or be disputed")
    func awaitedChanges() {
        func paid(_ method: String, _ change: (inout ChargeFacts) -> Void = { _ in }) -> Int64? {
            let life = life(.paymentIntent, "succeeded", method) { facts in
                var charge = ChargeFacts(status: .succeeded)
                charge.captured = 1000
                charge.paidAt = begun
                change(&charge)
                facts.charge = charge
            }
            return hours(life.changesUntil)
        }
        #expect(paid("card") == days(150))
        #expect(paid("sepa_debit") == days(400))
        #expect(paid("ideal") == nil)
        #expect(paid("card") { $0.refunded = 1000 } == days(150))
        // A dispute extends the span, also for a method that cannot be returned.
        #expect(paid("ideal") { $0.dispute = .open } == days(100))
        #expect(paid("us_bank_account") { $0.dispute = .open } == days(100))
        #expect(paid("card") { $0.dispute = .open } == days(150))
        #expect(paid("us_bank_account") { $0.dispute = .inquiry } == days(100))
        #expect(paid("us_bank_account") { $0.dispute = .lost } == days(70))
        // So does a refund that has not succeeded, which Stripe cancels if the customer names no account for 45 days.
        for status in RefundProgress.Status.allCases {
            let refund = RefundProgress(status, 1000)
            let span = paid("customer_balance") { $0.refund = refund }
            #expect(span == (refund.isOpen ? days(60) : nil), "\(status)")
            #expect(paid("card") { $0.refund = refund } == days(150), "\(status)")
        }
        #expect(hours(life(.paymentIntent, "processing", "sepa_debit").changesUntil) == days(24))
        #expect(hours(life(.source, "chargeable", "ideal").changesUntil) == 7)
        #expect(life(.source, "pending", "ideal").changesUntil == nil)
        #expect(life(.source, "failed", "card").changesUntil == nil)
    }

    @Test("a warning is due after half of the time, and when a tenth is left")
    func warnings() {
        let source = life(.source, "chargeable", "ideal")
        #expect(source.warnings.map { ($0 - begun).ms / 60_000 } == [210, 378])
        let held = life(.paymentIntent, "requires_capture", "card") { facts in
            var charge = ChargeFacts(status: .succeeded)
            charge.captureBefore = begun + .seconds(7 * 86_400)
            facts.charge = charge
        }
        #expect(hours(held.endsAt) == 7 * 24 && held.warnings.count == 2)
        #expect(life(.source, "pending", "ideal").warnings.isEmpty)
        // Without an end nothing is due in time.
        #expect(life(.source, "chargeable", "newpay").warnings.isEmpty)
    }

    @Test("a hold starts when the payer agreed, independent of the intent's age")
    func holds() {
        for days in [0, 27, 70] as [Int64] {
            let agreed = begun + .seconds(days * 86_400)
            let card = life(.paymentIntent, "requires_capture", "card") { facts in
                var charge = ChargeFacts(status: .succeeded)
                charge.created = agreed
                charge.captureBefore = agreed + .seconds(7 * 86_400)
                facts.charge = charge
            }
            let acted = agreed + .seconds(7 * 86_400 * 9 / 10)
            #expect(card.capturesAt == acted && card.warnings.last == acted)
            #expect(card.warnings.first == agreed + .seconds(7 * 86_400 / 2))
            // A charge that does not show its end has the length of its method.
            for (method, length, shortest) in [
                ("klarna", 28 * 24, 28 * 24), ("afterpay_clearpay", 13 * 24, 13 * 24),
                // A Visa hold that the merchant initiates is shorter, and the charge does not show that.
                ("card", 7 * 24, 4 * 24 + 18), ("card_present", 2 * 24, 2 * 24),
            ] {
                let span = Duration.seconds(length * 3600)
                let other = held(by: method, since: agreed)
                #expect(other.expiresAt == agreed + span, "\(method)")
                let acted = agreed + Duration.seconds(shortest * 3600) * 9 / 10
                #expect(other.capturesAt == acted && other.warnings.last == acted, "\(method)")
                #expect(other.releasesAt == agreed + span * 9 / 10, "\(method)")
                #expect(other.warnings.count == 2 && other.changesUntil == agreed + span)
            }
            // Without a known end there is no action and no warning, and the payment is watched for long.
            for method in ["affirm", "newpay", nil] {
                let other = held(by: method, since: agreed)
                #expect(other.capturesAt == nil && other.warnings.isEmpty)
                #expect(other.changesUntil == agreed + .seconds(30 * 86_400))
            }
        }
        // The start of a hold is unknown for an intent without its charge.
        let blind = life(.paymentIntent, "requires_capture", "card")
        #expect(blind.capturesAt == nil && blind.expiresAt == nil)
    }

    private func held(by method: String?, since agreed: Timestamp) -> PaymentLifetime {
        life(.paymentIntent, "requires_capture", method) { facts in
            var charge = ChargeFacts(status: .succeeded)
            charge.created = agreed
            facts.charge = charge
        }
    }

    @Test("a voucher can be paid until its end, and its payment is reported some days later")
    func vouchers() {
        func waiting(_ method: String?, _ step: NextStep) -> PaymentLifetime {
            life(.paymentIntent, "requires_action", method) { $0.step = step }
        }
        let until = begun + .seconds(60 * 86_400)
        var voucher = NextStep.Voucher()
        voucher.until = until
        for method in ["boleto", "konbini", "oxxo", nil] {
            let life = waiting(method, .payVoucher(voucher))
            #expect(life.payableUntil == until + .seconds(6 * 86_400))
            #expect(life.changesUntil == life.payableUntil && life.expiresAt == until)
        }
        var code = NextStep.Code()
        code.until = until
        #expect(waiting("pix", .scanCode(code)).payableUntil == until)
        #expect(waiting("card", .returnToShop).payableUntil == nil)
        #expect(waiting("customer_balance", .transfer(NextStep.Transfer())).payableUntil == nil)
        #expect(life(.source, "pending", "multibanco").payableUntil == nil)
    }

    @Test("methods settled daily in China end before midnight there")
    func china() {
        // At 00:00 UTC. The books close at 15:45.
        #expect(life(.source, "chargeable", "alipay").expiresAt == begun + .seconds(7 * 3600))
        let late = life(.source, "chargeable", "alipay") {
            $0.created = begun + .seconds(-2 * 3600)
        }
        #expect(late.expiresAt == begun + .seconds(5 * 3600))
        var facts = PaymentFacts(kind: .source)
        facts.status = SourceStatus(unchecked: "chargeable")
        facts.method = PaymentMethod("wechat")
        facts.usage = .singleUse
        facts.created = begun + .seconds(12 * 3600)
        let noon = begun + .seconds(13 * 3600)
        let life = PaymentLifetime(facts, Payment(facts), now: noon)
        #expect(life.expiresAt == begun + .seconds((15 * 60 + 45) * 60))
    }
}
