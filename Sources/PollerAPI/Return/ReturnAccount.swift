import Hummingbird
import Logging
import PollerIdentity
import PollerLocalization
import PollerPayments

// The refund account that a payer enters on the return page.
//
// The form needs the same access as the page: the payment's cookie, which a page of another site cannot send. The input
// is checked, submitted to the upstream and then dropped: no event, log or watch contains it. After a mistake, the form
// shows the input again, only to the payer who entered it, because typing twenty digits twice on a phone is tedious.

/// The payer's input of an account.
///
/// Its description is redacted.
struct EnteredAccount: Hashable, CustomStringConvertible, CustomReflectable {
    /// The reason why the account was not accepted.
    enum Problem: String, CaseIterable {
        case holder, iban, number
        /// The upstream rejected the account.
        case refused
        /// It is unknown whether the upstream accepted the account.
        case unclear
    }

    /// The maximum name length, that of Stripe.
    static let holderLengthMax = 255

    let sort: RefundAccount.Sort
    let holder: String
    let iban: String
    let routing: String
    let number: String
    let isBusiness: Bool

    /// Reads a form.
    init(_ sort: RefundAccount.Sort, _ fields: FormFields) {
        func digits(_ name: String) -> String {
            fields[name].filter { !$0.isWhitespace && $0 != "-" }
        }
        self.sort = sort
        holder = String(fields["holder"].prefix(Self.holderLengthMax))
        iban = String(fields["iban"].prefix(64))
        routing = digits("routing_number")
        number = digits("account_number")
        isBusiness = !fields["company"].isEmpty
    }

    /// Returns the account.
    ///
    /// The error names the invalid field.
    func account() throws(InvalidInput) -> RefundAccount {
        let identifier: RefundAccount.Identifier =
            switch sort {
            case .iban: .iban(iban)
            case .american: .american(routing: routing, number: number, isBusiness: isBusiness)
            }
        return try RefundAccount(holder: holder, identifier: identifier)
    }

    var description: String { "(redacted)" }
    var customMirror: Mirror { Mirror(self, children: ["account": "(redacted)"]) }
}

extension EnteredAccount.Problem {
    /// Creates the problem of an invalid field.
    init(_ error: InvalidInput) {
        switch error.field {
        case "holder": self = .holder
        case "iban": self = .iban
        default: self = .number
        }
    }
}

extension ReturnRows {
    /// Returns the account fields, with the earlier input.
    func account(
        _ sort: RefundAccount.Sort,
        _ words: PayerWords,
        _ notice: PayerNotice?
    ) -> String {
        var entered: EnteredAccount?
        if case .account(_, let before)? = notice, before.sort == sort { entered = before }
        let holder = field(
            "holder",
            "label.account_holder",
            entered?.holder,
            "maxlength=\"\(EnteredAccount.holderLengthMax)\" autocomplete=\"name\"",
            words
        )
        switch sort {
        case .iban:
            let more = "maxlength=\"64\" autocomplete=\"off\" autocapitalize=\"characters\""
            return holder + field("iban", "label.iban", entered?.iban, more, words)
        case .american:
            let more = "maxlength=\"24\" autocomplete=\"off\" inputmode=\"numeric\""
            return holder
                + field("routing_number", "label.routing", entered?.routing, more, words)
                + field("account_number", "label.account", entered?.number, more, words)
                + "<label class=\"mark\"><input type=\"checkbox\" name=\"company\" value=\"1\""
                + (entered?.isBusiness == true ? " checked" : "")
                + ">\(HTMLText.escaped(words("label.company_account")))</label>"
        }
    }

    private func field(
        _ name: String,
        _ label: String,
        _ value: String?,
        _ more: String,
        _ words: PayerWords
    ) -> String {
        "<label class=\"wide\">\(HTMLText.escaped(words(label)))<input name=\"\(name)\" required "
            + more + " spellcheck=\"false\""
            + (value.map { " value=\"\(HTMLText.escaped($0))\"" } ?? "") + "></label>"
    }
}

extension ReturnPageRoutes {
    static let account = Route(
        .post,
        "/r/{source}/refund_account",
        "returnRefundAccount",
        "Hand in the account that the customer's money goes back to",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        body: .raw(
            "application/x-www-form-urlencoded",
            [
                "type": "object", "required": ["holder"],
                "properties": [
                    "holder": ["type": "string", "maxLength": 255],
                    "iban": ["type": "string", "maxLength": 64],
                    "routing_number": ["type": "string"],
                    "account_number": ["type": "string"],
                    "company": ["type": "string"],
                ],
            ]
        ),
        answers: pages + [.page(429, "The page: one was handed in a moment ago.")],
        audit: .traffic("a payer's own account; nothing of it is kept here")
    )
    static let accountAgain = Route(
        .get,
        "/r/{source}/refund_account",
        "returnRefundAccountAgain",
        "Back to the page, for a browser that asks for the form's own address",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        answers: pages
    )

    /// Submits the account that a customer entered, and shows the result.
    func submitRefundAccount(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        try await answer(parameters, request, context) { form, body, snapshot in
            guard case .account(let sort) = form else { return nil }
            let entered = EnteredAccount(sort, FormFields(body))
            let account: RefundAccount
            do throws(InvalidInput) {
                account = try entered.account()
            } catch {
                return shown(snapshot, after: .account(.init(error), entered), to: request)
            }
            do {
                switch try await submissions.submitRefundAccount(account, for: snapshot) {
                case .taken: return shown(snapshot, after: .accountTaken, to: request)
                case .refused:
                    return shown(snapshot, after: .account(.refused, entered), to: request)
                case .notRequired: return nil
                case .unknown(let reason):
                    context.logger.warning(
                        "no answer to an account",
                        metadata: ["error": "\(reason)"]
                    )
                    return shown(snapshot, after: .account(.unclear, entered), to: request)
                }
            } catch let problem as Problem where problem.code == .tooManyTries {
                var answer = shown(snapshot, after: .account(.unclear, entered), to: request)
                answer.status = .tooManyRequests
                answer.headers[.retryAfter] = "2"
                return answer
            }
        }
    }
}
