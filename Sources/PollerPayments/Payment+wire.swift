import PollerIdentity
package import PollerWire

extension Payment {
    /// The wire form.
    package var wire: PollerWire.Payment {
        var wire = PollerWire.Payment()
        wire.state = Open(rawValue: state.rawValue)
        wire.amount = amount?.minorUnits
        wire.amountReceived = amountReceived.minorUnits
        wire.amountReturned = amountReturned == 0 ? nil : amountReturned.minorUnits
        wire.currency = currency
        wire.method = method?.name
        wire.paidAt = paidAt.map { Time(ms: $0.ms) }
        wire.reason = reason?.rawValue
        wire.refund = refund?.wire
        wire.presentment = presentment?.wire
        return wire
    }

    /// Creates a payment from a recorded one.
    ///
    /// An unknown state becomes `unknown`, and a sum that is negative or beyond ``Amount/max`` becomes unknown.
    package init(_ wire: PollerWire.Payment) {
        self.init(
            state: PaymentState(rawValue: wire.state.rawValue) ?? .unknown,
            amount: wire.amount.flatMap { Amount(nonNegative: $0) },
            amountReceived: Amount(nonNegative: wire.amountReceived) ?? .zero,
            amountReturned: wire.amountReturned.flatMap { Amount(nonNegative: $0) } ?? .zero,
            currency: wire.currency,
            method: PaymentMethod(wire.method),
            paidAt: wire.paidAt.map { Timestamp(ms: $0.ms) },
            reason: wire.reason.flatMap(PaymentReason.init(rawValue:)),
            refund: wire.refund.flatMap(RefundProgress.init),
            presentment: wire.presentment.flatMap(Presentment.init)
        )
    }
}

extension RefundProgress {
    /// The wire form.
    fileprivate var wire: PollerWire.Payment.Refund {
        var wire = PollerWire.Payment.Refund()
        wire.status = Open(rawValue: status.rawValue)
        wire.amount = amount.minorUnits
        return wire
    }

    /// Creates a refund from a recorded one; `nil` for an unknown status or an invalid sum.
    fileprivate init?(_ wire: PollerWire.Payment.Refund) {
        guard let status = Status(rawValue: wire.status.rawValue),
            let amount = Amount(nonNegative: wire.amount)
        else { return nil }
        self.init(status, amount)
    }
}

extension Presentment {
    /// The wire form.
    fileprivate var wire: PollerWire.Payment.Presentment {
        var wire = PollerWire.Payment.Presentment()
        wire.amount = amount.minorUnits
        wire.currency = currency
        wire.amountReturned = returned?.minorUnits
        return wire
    }

    /// Creates a presentment from a recorded one; `nil` for an invalid sum.
    fileprivate init?(_ wire: PollerWire.Payment.Presentment) {
        guard let amount = Amount(nonNegative: wire.amount), !wire.currency.isEmpty else {
            return nil
        }
        self.init(
            amount: amount,
            currency: wire.currency,
            returned: wire.amountReturned.flatMap { Amount(nonNegative: $0) }
        )
    }
}

extension PollerWire.Payment {
    /// The name of the first sum that is negative or beyond ``Amount/max``; `nil` when all are amounts.
    package var sumBeyondLimits: String? {
        let sums: [(name: String, number: Int?)] = [
            ("amount", amount), ("amount_received", amountReceived),
            ("amount_returned", amountReturned), ("refund.amount", refund?.amount),
            ("presentment.amount", presentment?.amount),
            ("presentment.amount_returned", presentment?.amountReturned),
        ]
        return sums.first { $0.number.map { Amount(nonNegative: $0) == nil } ?? false }?.name
    }
}

extension NextStep {
    /// The wire form.
    package var wire: PollerWire.NextStep {
        var wire = PollerWire.NextStep()
        wire.type = Open(rawValue: name)
        wire.until = until.map { Time(ms: $0.ms) }
        switch self {
        case .none, .approveInApp, .returnToShop, .chooseMethod: break
        case .giveRefundAccount(let url): wire.url = url
        case .followLink(let link):
            wire.url = link.url
            wire.appURL = link.appURL
        case .transfer(let transfer):
            wire.accounts = transfer.accounts.map(\.wire)
            wire.reference = transfer.reference
            wire.amountMissing = transfer.amountMissing?.minorUnits
            wire.currency = transfer.currency
            wire.url = transfer.url
        case .payVoucher(let voucher):
            wire.entity = voucher.entity
            wire.reference = voucher.reference
            wire.number = voucher.number
            wire.stores = voucher.stores.isEmpty ? nil : voucher.stores.map(\.wire)
            wire.url = voucher.url
            wire.pdf = voucher.pdf
        case .scanCode(let code):
            wire.data = code.data
            wire.imageURL = code.imageURL
            wire.url = code.url
            wire.appURL = code.appURL
        case .enterCode(let left): wire.attemptsLeft = left
        case .verifyMicrodeposits(let deposits):
            wire.deposits = deposits.sort
            wire.at = deposits.arrivesAt.map { Time(ms: $0.ms) }
            wire.url = deposits.url
            wire.attemptsLeft = deposits.attemptsLeft
        case .awaitDebit(let at, let needsApproval):
            // The instant is the time of the debit, not an expiry.
            wire.until = nil
            wire.at = at.map { Time(ms: $0.ms) }
            wire.needsApproval = needsApproval
        }
        return wire
    }

    /// Creates a step from a recorded one.
    ///
    /// An unknown step leads back to the shop.
    package init(_ wire: PollerWire.NextStep) {
        let until = wire.until.map { Timestamp(ms: $0.ms) }
        let at = wire.at.map { Timestamp(ms: $0.ms) }
        switch wire.type.known {
        case .some(.none): self = .none
        case .followLink:
            self = .followLink(Link(url: wire.url, appURL: wire.appURL, until: until))
        case .transfer:
            var transfer = Transfer()
            transfer.accounts = (wire.accounts ?? []).map(BankAccount.init)
            transfer.reference = wire.reference
            transfer.amountMissing = wire.amountMissing.flatMap { Amount(nonNegative: $0) }
            transfer.currency = wire.currency
            transfer.url = wire.url
            self = .transfer(transfer)
        case .payVoucher:
            var voucher = Voucher()
            voucher.entity = wire.entity
            voucher.reference = wire.reference
            voucher.number = wire.number
            voucher.stores = (wire.stores ?? []).map(Voucher.Store.init)
            voucher.url = wire.url
            voucher.pdf = wire.pdf
            voucher.until = until
            self = .payVoucher(voucher)
        case .scanCode:
            var code = Code()
            code.data = wire.data
            code.imageURL = wire.imageURL
            code.url = wire.url
            code.appURL = wire.appURL
            code.until = until
            self = .scanCode(code)
        case .approveInApp: self = .approveInApp(until: until)
        case .enterCode: self = .enterCode(attemptsLeft: wire.attemptsLeft)
        case .verifyMicrodeposits:
            var deposits = Microdeposits()
            deposits.sort = wire.deposits
            deposits.arrivesAt = at
            deposits.url = wire.url
            deposits.attemptsLeft = wire.attemptsLeft
            self = .verifyMicrodeposits(deposits)
        case .awaitDebit:
            self = .awaitDebit(at: at, needsApproval: wire.needsApproval ?? false)
        case .chooseMethod: self = .chooseMethod
        case .giveRefundAccount: self = .giveRefundAccount(url: wire.url)
        case .returnToShop, nil: self = .returnToShop
        }
    }
}

extension NextStep.BankAccount {
    /// The wire form.
    fileprivate var wire: PollerWire.NextStep.Account {
        var wire = PollerWire.NextStep.Account()
        wire.scheme = scheme
        wire.holder = holder
        wire.bank = bank
        wire.iban = iban
        wire.bic = bic
        wire.number = number
        wire.accountType = accountType
        wire.bankCode = bankCode
        wire.branchCode = branchCode
        wire.branchName = branchName
        return wire
    }

    fileprivate init(_ wire: PollerWire.NextStep.Account) {
        self.init(scheme: wire.scheme)
        holder = wire.holder
        bank = wire.bank
        iban = wire.iban
        bic = wire.bic
        number = wire.number
        accountType = wire.accountType
        bankCode = wire.bankCode
        branchCode = wire.branchCode
        branchName = wire.branchName
    }
}

extension NextStep.Voucher.Store {
    /// The wire form.
    fileprivate var wire: PollerWire.NextStep.Store {
        var wire = PollerWire.NextStep.Store()
        wire.name = name
        wire.paymentCode = paymentCode
        wire.confirmationNumber = confirmationNumber
        return wire
    }

    fileprivate init(_ wire: PollerWire.NextStep.Store) {
        self.init(
            name: wire.name,
            paymentCode: wire.paymentCode,
            confirmationNumber: wire.confirmationNumber
        )
    }
}
