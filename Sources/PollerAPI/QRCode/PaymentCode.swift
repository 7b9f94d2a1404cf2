import PollerPayments

extension NextStep {
    /// The content of a QR code for this step; `nil` if there is none.
    var codeText: String? {
        switch self {
        case .transfer(let transfer): transfer.creditTransferText
        case .scanCode(let code): code.data
        default: nil
        }
    }
}

extension NextStep.Transfer {
    /// The amounts allowed in such a code, `EUR0.01` to `EUR999999999.99` (EPC069-12).
    private static let sums: ClosedRange<Amount> = 1...99_999_999_999

    /// The content of a SEPA credit transfer QR code; `nil` unless the transfer is in euro to a named payee.
    ///
    /// *Shape*: lines, without trailing empty ones:
    /// ```
    /// BCD
    /// 002
    /// 1
    /// SCT
    /// COBADEFFXXX
    /// Shop GmbH
    /// DE89370400440532013000
    /// EUR10.99
    /// (purpose)
    /// (structured reference)
    /// F-7
    /// ```
    /// *Source*: EPC069-12, "Quick Response Code: guidelines to enable data capture for the initiation of
    /// a SEPA credit transfer", version 2.1: name at most 70 characters, text 140, UTF-8 as `1`.
    var creditTransferText: String? {
        let account = accounts.first { $0.iban != nil && $0.holder?.isEmpty == false }
        guard let account, let iban = account.iban, let holder = account.holder,
            currency?.lowercased() == "eur"
        else { return nil }
        let isInRange = amountMissing.map { Self.sums.contains($0) } ?? true
        let lines = [holder, reference ?? "", account.bic ?? ""]
        guard isInRange, lines.allSatisfy({ !$0.contains(where: \.isNewline) }) else { return nil }
        let sum = amountMissing.map { amount in
            let (euros, cents) = amount.minorUnits.quotientAndRemainder(dividingBy: 100)
            return "EUR\(euros).\(cents < 10 ? "0" : "")\(cents)"
        }
        let codeLines = [
            "BCD", "002", "1", "SCT", account.bic ?? "", String(holder.prefix(70)),
            iban.filter { $0 != " " }, sum ?? "", "", "", String((reference ?? "").prefix(140)),
        ]
        let last = codeLines.lastIndex { !$0.isEmpty } ?? 0
        return codeLines[...last].joined(separator: "\n")
    }
}
