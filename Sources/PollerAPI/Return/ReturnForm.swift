import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Poller
import PollerWords

/// What a payer is told at once of what they filled in on the return page.
///
/// The form works without the page's script: it posts, and the answer is the page with a sentence more. A
/// page loaded again posts the same values, which are the same try. Whoever posts must have the cookie,
/// which a page of another site cannot bring along (`SameSite`).
enum PayerNotice: Hashable {
    case right
    case wrong(attemptsLeft: Int?)
    /// No tries are left.
    case exhausted
    /// Nobody knows whether it was right.
    case unclear
    /// It was no code.
    case unreadable

    /// The sentence.
    func text(_ words: PayerWords) -> String {
        switch self {
        case .right: words("page.form.right")
        case .wrong: words("page.form.wrong")
        case .exhausted: words("page.form.exhausted")
        case .unclear: words("page.form.unclear")
        case .unreadable: words("page.form.unreadable")
        }
    }

    /// What it says of the payment, before anybody has looked at that again.
    func applied(to payment: Payment, _ step: NextStep) -> (Payment, NextStep) {
        switch self {
        case .right: (payment, .none)
        case .wrong(let left): (payment, step.leaving(left))
        case .exhausted: (payment.withoutTries, .none)
        case .unclear, .unreadable: (payment, step)
        }
    }
}

extension NextStep {
    /// The same step with so many tries left.
    fileprivate func leaving(_ attemptsLeft: Int?) -> NextStep {
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
    /// The same sums, for which the right code was not given.
    fileprivate var withoutTries: Payment {
        Payment(
            state: .failed,
            amount: amount,
            amountReceived: 0,
            currency: currency,
            method: method,
            reason: .authenticationFailed
        )
    }
}

extension ReturnRows {
    /// What is told at once; nothing where nobody has filled anything in.
    func notice(_ notice: PayerNotice?, _ words: PayerWords) -> String {
        guard let notice else { return "" }
        let isGood = notice == .right
        return "<p id=\"notice\" role=\"alert\"\(isGood ? " class=\"good\"" : "")>"
            + "\(HTMLPage.escaped(notice.text(words)))</p>"
    }

    /// The form, as the page shows it.
    func form(_ form: PayerForm, to path: String, _ words: PayerWords) -> String {
        let names =
            switch form {
            case .code: ["label.code"]
            case .amounts: ["label.first_amount", "label.second_amount"]
            }
        let isAmount = form == .amounts
        let fields = names.map { name in
            "<label>\(HTMLPage.escaped(words(name)))<input name=\"value\" required maxlength=\"32\" "
                + "autocomplete=\"one-time-code\" autocapitalize=\"off\" spellcheck=\"false\" "
                + "inputmode=\"\(isAmount ? "decimal" : "text")\""
                + (isAmount ? " placeholder=\"0.32\"" : "") + "></label>"
        }
        return "<form id=\"form\" method=\"post\" action=\"\(HTMLPage.escaped(path))\">"
            + fields.joined()
            + "<button>\(HTMLPage.escaped(words("action.confirm")))</button></form>"
    }
}

extension ReturnPageRoutes {
    /// Two values of 32 characters, in the encoding of forms, with room.
    private static let formBytesMax = 4096

    static let verification = Route(
        .post,
        "/r/{source}/verify",
        "returnVerify",
        "Hand in the code that the customer typed",
        access: .anybody,
        input: .visit(at: .payment),
        body: .raw(
            "application/x-www-form-urlencoded",
            [
                "type": "object", "required": ["value"],
                "properties": ["value": ["type": "string", "maxLength": 64]],
            ]
        ),
        answers: pages + [.page(429, "The page: a try was made a moment ago.")]
    )
    static let verificationAgain = Route(
        .get,
        "/r/{source}/verify",
        "returnVerifyAgain",
        "Back to the page, for a browser that asks for the form's own address",
        access: .anybody,
        input: .visit(at: .payment),
        answers: pages
    )

    /// Leads to the page.
    @Sendable
    func leadBack(
        _ visit: ReturnVisit,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        guard let key = Self.key(visit.payment, visit["account"]) else {
            return page.neutral(in: spoken(to: request))
        }
        return Response(status: .seeOther, headers: [.location: Self.path(key)])
    }

    /// Hands in what a customer typed, and shows what came of it.
    @Sendable
    func verify(
        _ visit: ReturnVisit,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let body = try await reader.read(request, bytesMax: Self.formBytesMax)
        guard let key = Self.key(visit.payment, visit["account"]) else {
            return page.neutral(in: spoken(to: request))
        }
        do {
            let snapshot = try await watches.snapshot(of: key)
            let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
            guard proof.isProven(by: request.headers[.cookie], of: snapshot?.watch), let snapshot
            else { return page.neutral(in: spoken(to: request)) }
            guard let form = desk.form(of: snapshot) else {
                return Response(status: .seeOther, headers: [.location: Self.path(key)])
            }
            return try await tell(form, Self.values(of: body), snapshot, request, context)
        } catch let error as StoreError {
            context.logger.warning("no code without a store", metadata: ["error": "\(error)"])
            return page.unavailable(in: spoken(to: request))
        }
    }

    private func tell(
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
            result = try await desk.verify(snapshot, with: values)
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
        case .notAsked:
            let back = Self.path(snapshot.watch.key)
            return Response(status: .seeOther, headers: [.location: back])
        case .unknown(let reason):
            context.logger.warning("no answer to a code", metadata: ["error": "\(reason)"])
            return shown(snapshot, after: .unclear, to: request)
        }
    }

    /// The values of a form, at most as many as there are fields; what is no text is empty.
    private static func values(of body: [UInt8]) -> [String] {
        String(decoding: body, as: UTF8.self).split(separator: "&")
            .map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
            .filter { $0.first == "value" }
            .prefix(VerificationValues.countMax + 1)
            .map { pair in
                let text = pair.count > 1 ? pair[1].replacing("+", with: " ") : ""
                return text.removingPercentEncoding ?? ""
            }
    }
}
