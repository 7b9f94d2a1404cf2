import JSONText
import PollerIdentity
import PollerPayments
import PollerWire
import Testing

@Suite("Payments and steps on the wire")
struct PaymentWireTests {
    private static let at = Timestamp(ms: 1_796_083_200_125)

    private static let steps: [PollerPayments.NextStep] = {
        var transfer = PollerPayments.NextStep.Transfer()
        var account = PollerPayments.NextStep.BankAccount(scheme: "zengin")
        account.holder = "Shop"
        account.bank = "Bank"
        account.iban = "DE1"
        account.bic = "SOGEDEFF"
        account.number = "9"
        account.accountType = "futsu"
        account.bankCode = "1"
        account.branchCode = "2"
        account.branchName = "Ginza"
        transfer.accounts = [account, PollerPayments.NextStep.BankAccount(scheme: "iban")]
        transfer.reference = "R1"
        transfer.amountMissing = 400
        transfer.currency = "eur"
        transfer.url = "https://a"
        var voucher = PollerPayments.NextStep.Voucher()
        voucher.entity = "12345"
        voucher.reference = "999"
        voucher.number = "7"
        voucher.stores = [.init(name: "lawson", paymentCode: "1", confirmationNumber: "2")]
        voucher.url = "https://a"
        voucher.pdf = "https://b"
        voucher.until = at
        var code = PollerPayments.NextStep.Code()
        code.data = "weixin://x"
        code.imageURL = "https://a"
        code.url = "https://b"
        code.appURL = "app://c"
        code.until = at
        var deposits = PollerPayments.NextStep.Microdeposits()
        deposits.sort = "amounts"
        deposits.arrivesAt = at
        deposits.url = "https://a"
        return [
            .none, .followLink(.init(url: "https://a", appURL: "app://b", until: at)),
            .followLink(.init(url: "https://a")), .transfer(transfer), .payVoucher(voucher),
            .payVoucher(.init()), .scanCode(code), .approveInApp(until: nil),
            .approveInApp(until: at), .enterCode(attemptsLeft: 3), .enterCode(attemptsLeft: nil),
            .verifyMicrodeposits(deposits), .awaitDebit(at: at, needsApproval: true),
            .awaitDebit(at: nil, needsApproval: false), .giveRefundAccount(url: nil),
            .giveRefundAccount(url: "https://pay.example/r/src_1/continue?grant=x"), .returnToShop,
            .chooseMethod,
        ]
    }()

    @Test("every step is equal to its encoded and parsed form")
    func steps() throws {
        for step in Self.steps {
            let text = try #require(RawJSON(step.wire.json))
            let read = PollerPayments.NextStep(try PollerWire.NextStep(reading: text))
            #expect(read == step && read.fingerprint == step.fingerprint, "\(step.wire.json)")
        }
        #expect(
            Set(Self.steps.map(\.name)) == Set(PollerWire.NextStep.Sort.allCases.map(\.rawValue))
        )
        // A step that another release added is left to the shop's own page.
        let other = try #require(RawJSON(#"{"type":"sing_a_song","verse":2}"#))
        #expect(PollerPayments.NextStep(try PollerWire.NextStep(reading: other)) == .returnToShop)
    }

    @Test("a payment is encoded with its non-empty members, in order")
    func payments() throws {
        let paid = PollerPayments.Payment(
            state: .paid,
            amount: 1099,
            amountReceived: 1099,
            currency: "eur",
            method: PaymentMethod("ideal"),
            paidAt: Self.at
        )
        #expect(
            paid.wire.json
                == #"{"state":"paid","amount":1099,"amount_received":1099,"currency":"eur","#
                + #""method":"ideal","paid_at":"2026-12-01T00:00:00.125Z"}"#
        )
        let states = PaymentState.allCases.map { PollerPayments.Payment(state: $0) }
        let reasons = PaymentReason.allCases.map {
            PollerPayments.Payment(state: .failed, reason: $0)
        }
        let reversed = PollerPayments.Payment(
            state: .reversed,
            amountReceived: 5,
            amountReturned: 4
        )
        for payment in states + reasons + [paid, reversed] {
            let text = try #require(RawJSON(payment.wire.json))
            #expect(
                PollerPayments.Payment(try PollerWire.Payment(reading: text)) == payment,
                "\(payment)"
            )
        }
        #expect(
            PaymentState.allCases.map(\.rawValue)
                == PollerWire.Payment.State.allCases.map(\.rawValue)
        )
    }

    @Test(
        "an amount on the wire beyond safe JSON integers is rejected",
        arguments: ["9223372036854775807", "-9223372036854775808", "9007199254740992"]
    )
    func beyond(number: String) throws {
        let json = try #require(RawJSON(#"{"state":"paid","amount":\#(number)}"#))
        #expect(throws: WireError.self) { try PollerWire.Payment(reading: json) }
    }

    @Test("a negative amount on the wire is ignored", arguments: ["-1", "-9007199254740991"])
    func negative(number: String) throws {
        let sums =
            #""amount":\#(number),"amount_received":\#(number),"amount_returned":\#(number)"#
        let json = try #require(RawJSON(#"{"state":"paid",\#(sums)}"#))
        let wire = try PollerWire.Payment(reading: json)
        #expect(wire.sumBeyondLimits == "amount")
        let payment = PollerPayments.Payment(wire)
        #expect(payment.amount == nil)
        #expect(payment.amountReceived == 0 && payment.amountReturned == 0)
        var notice = PollerWire.MandateNotice()
        notice.amount = wire.amount
        #expect(PollerPayments.MandateNotice(notice).amount == nil)
        var step = PollerWire.NextStep()
        step.type = Open(.transfer)
        step.amountMissing = wire.amount
        guard case .transfer(let transfer) = PollerPayments.NextStep(step) else {
            return fail("the step is not a transfer")
        }
        #expect(transfer.amountMissing == nil)
    }
}
