import PollerIdentity
package import PollerPayments

extension NextStep {
    /// The values that the payer copies: bank account details or voucher numbers.
    ///
    /// `payee` is the account holder of a transfer when the upstream names none. Banks require a name and compare it
    /// with the account's.
    func details(_ words: PayerWords, payee: String?) -> [PayerFact] {
        switch self {
        case .transfer(let transfer):
            // Every account receives the payment. The upstream lists its preferred one first.
            let account = transfer.accounts.first?.details(words, payee: payee) ?? []
            let reference = transfer.reference.map {
                PayerFact(words("label.reference"), $0, copied: $0)
            }
            let missing = transfer.amountMissing.flatMap {
                PayerMoney.text($0, transfer.currency, in: words.language)
            }
            return [missing.map { PayerFact(words("label.missing"), $0) }].compactMap(\.self)
                + account + [reference].compactMap(\.self)
        case .payVoucher(let voucher): return voucher.details(words)
        case .scanCode(let code):
            return code.data.map { [PayerFact(words("label.code"), $0, copied: $0)] } ?? []
        default: return []
        }
    }

    func links(_ words: PayerWords) -> [PayerLink] {
        let all: [(key: String, url: String?)] =
            switch self {
            case .followLink(let link):
                [("continue", link.url), ("open_app", link.appURL)]
            case .transfer(let transfer): [("details", transfer.url)]
            case .payVoucher(let voucher): [("voucher", voucher.url), ("print", voucher.pdf)]
            case .scanCode(let code): [("open_app", code.appURL), ("details", code.url)]
            case .verifyMicrodeposits(let deposits): [("verify", deposits.url)]
            case .giveRefundAccount(let url): [("refund_account", url)]
            case .none, .approveInApp, .enterCode, .awaitDebit, .returnToShop, .chooseMethod: []
            }
        return all.compactMap { key, url in
            url.flatMap { url in
                // A path of our page, or the upstream's URL.
                let isShown = url.hasPrefix("/r/") || Self.isSafe(url)
                return isShown ? PayerLink(words("action.\(key)"), url) : nil
            }
        }
    }

    /// Whether a link may be shown to a payer: an HTTPS page, a page on this machine, or a known payment app.
    ///
    /// Schemes that run code or read local files are rejected.
    package static func isSafe(_ url: String) -> Bool {
        guard let colon = url.firstIndex(of: ":"),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Set("\"'<>\\`".utf8).contains($0) })
        else { return false }
        let scheme = url[..<colon].lowercased()
        let isLocal = ["http://127.0.0.1", "http://localhost"].contains { host in
            url.hasPrefix(host)
                && [":", "/", "?", ""].contains(url.dropFirst(host.count).prefix(1))
        }
        let apps: Set = ["alipay", "alipays", "weixin", "swish", "upi", "cashapp", "cashme"]
        return (scheme == "https" && url.hasPrefix("https://")) || isLocal || apps.contains(scheme)
    }
}

extension NextStep.BankAccount {
    fileprivate func details(_ words: PayerWords, payee: String?) -> [PayerFact] {
        let code =
            switch scheme {
            case "aba", "ach": "routing"
            case "sort_code": "sort_code"
            default: "bank_code"
            }
        let number = scheme == "spei" ? "clabe" : "account"
        let rows: [(key: String, value: String?)] = [
            ("holder", holder ?? payee), ("iban", iban.map(Self.grouped)), ("bic", bic),
            (number, self.number), ("account_type", shownType), (code, bankCode),
            ("branch", branchCode), ("bank", bank), ("branch_name", branchName),
        ]
        return rows.compactMap { key, value in
            value.map { value in
                PayerFact(
                    words("label.\(key)"),
                    value,
                    copied: key == "iban" ? iban : value,
                    isUnbroken: key == "iban"
                )
            }
        }
    }

    /// The type of the account as the forms of its country name it.
    ///
    /// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `zengin.account_type`.
    private var shownType: String? {
        switch accountType {
        case "futsu": "普通 (futsu)"
        case "toza": "当座 (toza)"
        default: accountType
        }
    }

    /// Formats an IBAN in groups of four.
    ///
    /// *Source*: ISO 13616-1.
    private static func grouped(_ iban: String) -> String {
        let plain = Array(iban.filter { $0 != " " })
        return stride(from: 0, to: plain.count, by: 4)
            .map { String(plain[$0..<min($0 + 4, plain.count)]) }
            .joined(separator: " ")
    }
}

extension NextStep.Voucher {
    fileprivate func details(_ words: PayerWords) -> [PayerFact] {
        let rows: [(key: String, value: String?)] = [
            ("entity", entity), ("reference", reference), ("number", number),
        ]
        let shops = stores.flatMap { store in
            let name = store.name.prefix(1).uppercased() + store.name.dropFirst()
            return [
                PayerFact(
                    "\(name): \(words("label.payment_code"))",
                    store.paymentCode,
                    copied: store.paymentCode
                )
            ]
                + (store.confirmationNumber.map {
                    [PayerFact("\(name): \(words("label.confirmation"))", $0, copied: $0)]
                } ?? [])
        }
        let numbers = rows.compactMap { key, value in
            value.map { value in
                // Vouchers print the numbers in groups. Payers type them without spaces.
                PayerFact(
                    words("label.\(key)"),
                    value,
                    copied: value.filter { !$0.isWhitespace }
                )
            }
        }
        return numbers + shops
    }
}
