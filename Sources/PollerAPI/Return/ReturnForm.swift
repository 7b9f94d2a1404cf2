import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Poller
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue
import PollerWatches

/// The immediate result of a form on the return page.
///
/// The form works without the page's script: the response to the post is the page with this notice. Reloading the page
/// posts the same values, which count as the same attempt. A post needs the cookie, which a page of another site cannot
/// send (`SameSite`).
enum PayerNotice: Hashable {
    case right
    case wrong(attemptsLeft: Int?)
    /// No attempts remain.
    case exhausted
    /// It is unknown whether the code was correct.
    case unclear
    /// The input was not a code.
    case unreadable
    /// The account was submitted.
    case accountTaken
    /// The account was not submitted, or the result is unknown. The input is shown again.
    case account(EnteredAccount.Problem, EnteredAccount)

    /// Returns the notice as a sentence.
    func text(_ words: PayerWords) -> String {
        switch self {
        case .right: words("page.form.right")
        case .wrong: words("page.form.wrong")
        case .exhausted: words("page.form.exhausted")
        case .unclear: words("page.form.unclear")
        case .unreadable: words("page.form.unreadable")
        case .accountTaken: words("page.form.account_taken")
        case .account(let problem, _): words("page.form.account_\(problem.rawValue)")
        }
    }

    /// Returns the payment and the step after the notice, before the next poll.
    func applied(to payment: Payment, _ step: NextStep) -> (Payment, NextStep) {
        switch self {
        case .right, .accountTaken: (payment, .none)
        case .wrong(let left): (payment, step.withAttemptsLeft(left))
        case .exhausted: (payment.withoutAttempts, .none)
        case .unclear, .unreadable, .account: (payment, step)
        }
    }
}

extension NextStep {
    /// Returns the same step with the remaining attempts.
    fileprivate func withAttemptsLeft(_ attemptsLeft: Int?) -> NextStep {
        switch self {
        case .enterCode: return .enterCode(attemptsLeft: attemptsLeft)
        case .verifyMicrodeposits(var deposits):
            deposits.attemptsLeft = attemptsLeft
            return .verifyMicrodeposits(deposits)
        default: return self
        }
    }
}

extension Payment {
    /// The payment after the last wrong code, with the same amounts.
    fileprivate var withoutAttempts: Payment {
        Payment(
            state: .failed,
            amount: amount,
            amountReceived: .zero,
            currency: currency,
            method: method,
            reason: .authenticationFailed
        )
    }
}

extension ReturnRows {
    /// Returns the notice; empty if no form was submitted.
    func notice(_ notice: PayerNotice?, _ words: PayerWords) -> String {
        guard let notice else { return "" }
        let isGood = notice == .right || notice == .accountTaken
        return "<p id=\"notice\" role=\"alert\"\(isGood ? " class=\"good\"" : "")>"
            + "\(HTMLText.escaped(notice.text(words)))</p>"
    }

    /// Returns the form of the page.
    ///
    /// `notice` is the result of the last submission.
    func form(
        _ form: PayerForm,
        to path: String,
        _ words: PayerWords,
        _ notice: PayerNotice? = nil
    ) -> String {
        let fields =
            switch form {
            case .code: code("label.code", words)
            case .amounts:
                ["label.first_amount", "label.second_amount"]
                    .map { code($0, words, isAmount: true) }.joined()
            case .account(let sort): account(sort, words, notice)
            }
        return "<form id=\"form\" method=\"post\" action=\"\(HTMLText.escaped(path))\">" + fields
            + "<button>\(HTMLText.escaped(words("action.confirm")))</button></form>"
    }

    private func code(_ name: String, _ words: PayerWords, isAmount: Bool = false) -> String {
        "<label>\(HTMLText.escaped(words(name)))<input name=\"value\" required maxlength=\"32\" "
            + "autocomplete=\"one-time-code\" autocapitalize=\"off\" spellcheck=\"false\" "
            + "inputmode=\"\(isAmount ? "decimal" : "text")\""
            + (isAmount
                ? " placeholder=\"\(HTMLText.escaped(words("label.amount_example")))\"" : "")
            + "></label>"
    }
}

extension ReturnPageRoutes {
    /// The size limit of a form: two values of 32 characters or an account, form-encoded, with a margin.
    private static let formBytesMax = 4096

    static let verification = Route(
        .post,
        "/r/{source}/verify",
        "returnVerify",
        "Hand in the code that the customer typed",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        body: .raw(
            "application/x-www-form-urlencoded",
            [
                "type": "object", "required": ["value"],
                "properties": ["value": ["type": "string", "maxLength": 64]],
            ]
        ),
        answers: pages + [.page(429, "The page: a try was made a moment ago.")],
        audit: .traffic("a payer's own code; the payment's events say what it did")
    )
    static let verificationAgain = Route(
        .get,
        "/r/{source}/verify",
        "returnVerifyAgain",
        "Back to the page, for a browser that asks for the form's own address",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        answers: pages
    )

    func redirectToPage(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let key = Self.key(parameters.payment, parameters["account"]) else {
            return page.neutral(in: localizedWords(to: request))
        }
        return Response(status: .seeOther, headers: [.location: Self.path(key)])
    }

    /// Submits the customer's input and shows the result.
    func verify(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        try await answer(parameters, request, context) { form, body, snapshot in
            if case .account = form { return nil }
            let values = FormFields(body).all("value", max: VerificationValues.countMax + 1)
            return try await submit(form, values, snapshot, request, context)
        }
    }

    /// Responds to a form of the page, for a customer who has presented the payment's secret.
    ///
    /// `submit` submits the input. It returns `nil` for a form that is not requested, which redirects to the page.
    func answer(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext,
        _ submit: (PayerForm, [UInt8], WatchSnapshot) async throws -> Response?
    ) async throws -> Response {
        let body = try await reader.read(request, bytesMax: Self.formBytesMax)
        guard let key = Self.key(parameters.payment, parameters["account"]) else {
            return page.neutral(in: localizedWords(to: request))
        }
        do {
            let snapshot = try await watches.snapshot(of: key)
            let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
            guard proof.isProven(by: request.headers[.cookie], of: snapshot?.watch), let snapshot
            else { return page.neutral(in: localizedWords(to: request)) }
            if let form = submissions.form(of: snapshot),
                let answer = try await submit(form, body, snapshot)
            {
                await note(PayerAction(form), of: key)
                return answer
            }
            return Response(status: .seeOther, headers: [.location: Self.path(key)])
        } catch let error as StoreError {
            context.logger.warning("no form without a store", metadata: ["error": "\(error)"])
            return unavailable(of: key.account, to: request)
        }
    }

    private func submit(
        _ form: PayerForm,
        _ texts: [String],
        _ snapshot: WatchSnapshot,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let values: VerificationValues
        do throws(InvalidInput) {
            values = try form.values(of: texts)
        } catch {
            return shown(snapshot, after: .unreadable, to: request)
        }
        let result: VerificationResult
        do {
            result = try await submissions.verify(snapshot, with: values)
        } catch let problem as Problem where problem.code == .tooManyTries {
            var answer = shown(snapshot, after: .unclear, to: request)
            answer.status = .tooManyRequests
            answer.headers[.retryAfter] = "2"
            return answer
        }
        switch result {
        case .accepted: return shown(snapshot, after: .right, to: request)
        case .refused(let left):
            return shown(snapshot, after: .wrong(attemptsLeft: left), to: request)
        case .exhausted: return shown(snapshot, after: .exhausted, to: request)
        case .notRequired:
            let back = Self.path(snapshot.watch.key)
            return Response(status: .seeOther, headers: [.location: back])
        case .unknown(let reason):
            context.logger.warning("no answer to a code", metadata: ["error": "\(reason)"])
            return shown(snapshot, after: .unclear, to: request)
        }
    }
}

/// The fields of a form post.
///
/// A field without valid text is empty.
///
/// *Source*: <https://url.spec.whatwg.org/#application/x-www-form-urlencoded>.
struct FormFields {
    private let pairs: [(name: Substring, value: String)]

    init(_ body: [UInt8]) {
        pairs = String(decoding: body, as: UTF8.self).split(separator: "&").map { field in
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let text = parts.dropFirst().first?.replacing("+", with: " ") ?? ""
            return (parts.first ?? "", text.removingPercentEncoding ?? "")
        }
    }

    /// Returns the first value of a name; empty if there is none.
    subscript(_ name: String) -> String { pairs.first { $0.name == name }?.value ?? "" }

    /// Returns the values of a name, up to a maximum number.
    func all(_ name: String, max: Int) -> [String] {
        pairs.lazy.filter { $0.name == name }.prefix(max).map(\.value)
    }
}
