import Foundation
import PollerClient
import StripeAPI

/// The message and exit status of a failed request.
struct Failure {
    let message: String
    let exitStatus: Int32

    /// Uses the statuses of sysexits.h: 64 usage, 69 unavailable, 77 not allowed; otherwise 1.
    init(_ error: PollerError, hasKey: Bool, of url: String) {
        switch error {
        case .invalidConfiguration(let reason):
            message = reason
            exitStatus = 64
        case .unreachable(_, PollerClient.untrustedCertificate):
            message =
                "\(error)\nIf a private authority signed it, set --ca-file PATH or POLLER_CA_FILE to its "
                + "certificate. If it has expired, renew it."
            exitStatus = 69
        case .unreachable(_, PollerClient.certificateOfOtherHost):
            message = "\(error)\nSet POLLER_URL to a host name in the certificate."
            exitStatus = 69
        case .unreachable:
            message =
                "\(error)\nCheck that pollerd is running there, or set POLLER_URL to another server."
            exitStatus = 69
        case .problem(let problem) where problem.isFromOtherServer:
            message = Self.text(otherServer: url, status: problem.status)
            exitStatus = 69
        case .problem(let problem) where problem.status == 401:
            message =
                hasKey
                ? "POLLER_API_KEY is unknown to this server, expired or revoked. Set it to a valid key."
                : "This server requires an API key: set POLLER_API_KEY.\nAn admin creates keys with "
                    + "pollerctl key create. Create the first one with pollerd key create."
            exitStatus = 77
        case .problem(let problem) where problem.status == 403:
            message = problem.userMessage
            exitStatus = 77
        case .problem(let problem):
            var lines = [problem.userMessage]
            if let id = problem.requestID, problem.status >= 500 {
                lines.append("Search the server's log for request id \(id).")
            }
            message = lines.joined(separator: "\n")
            exitStatus = problem.isUsageError ? 64 : 1
        case .unintelligible:
            message =
                "\(error)\nCheck that \(url) is a pollerd API of a compatible release."
            exitStatus = 1
        }
    }

    /// The meaning of a status without a code of pollerd, and the remedy.
    private static func text(otherServer url: String, status: Int) -> String {
        switch status {
        case 300..<400:
            "\(url) redirects requests\nSet POLLER_URL to the address that it redirects to, which often "
                + "begins with https://."
        case 413:
            "a proxy at \(url) rejects requests of this size\nLet it accept bodies of 8 MiB."
        case 500...:
            "\(url) returned \(status) without details: a proxy could not reach pollerd\nCheck that "
                + "pollerd is running, then repeat the command."
        default:
            "\(url) is not a pollerd API, or a proxy in front of it returned \(status)\nSet POLLER_URL to "
                + "the API's address, which pollerd prints at start, or check the proxy's rules."
        }
    }

    /// Reports an outage or its end on standard error; events are read again automatically.
    static func report(outage error: PollerError?, of url: String) {
        guard let error else {
            return Terminal.printError("\(url) is available again; events continue")
        }
        var why = "\(error)"
        if case .problem(let problem) = error { why = problem.userMessage }
        Terminal.printError("\(why)\nEvents continue from here when the server is available again.")
    }
}

extension PollerProblem {
    /// Routes in server messages and the commands that replace them.
    private static let routes = [
        (
            "enqueue it with POST /v1/watches, or name another account",
            "watch it with pollerctl enqueue, or name its --account"
        ),
        ("POST /v1/watches", "pollerctl enqueue"),
        ("GET /v1/endpoints", "pollerctl endpoint list"),
        ("GET /v1/deliveries", "pollerctl delivery list"),
        ("GET /v1/lanes", "pollerctl lane list"),
        ("GET /v1/mail/suppressions", "pollerctl mail list"),
        ("GET /v1/keys", "pollerctl key list"),
        ("POST …/rotate", "pollerctl endpoint rotate"),
        (
            "Send the request again after a moment: repeating it is safe.",
            "Repeat the command in a moment; repeating is safe. Run pollerctl doctor for the cause."
        ),
        ("Send the request again later;", "Repeat the command later;"),
        ("before you send this again, or send it with", "before you repeat this, or do it with"),
        ("notify_by.endpoint", "--fallback"),
        ("GET its progress", "see its progress with --show"),
        ("an Idempotency-Key", "an --idempotency-key"),
        ("This Idempotency-Key", "This --idempotency-key"),
        ("this Idempotency-Key", "this --idempotency-key"),
    ]
    /// Request members that are arguments of commands; the others are options.
    private static let arguments = [
        "source", "url", "delivery", "endpoint", "lane", "charge", "order", "key", "recipient",
    ]
    /// Request members whose options have another name.
    private static let options = [
        "headers": "header", "sources": "source", "expires_in": "expires", "accounts": "account",
        "created_after": "since", "created_before": "until",
    ]

    /// Whether the response came from another server; pollerd always sends a specific code.
    var isFromOtherServer: Bool { code == "http_\(status)" }

    /// Whether the input is invalid, as opposed to a request that may succeed later.
    var isUsageError: Bool { [400, 422].contains(status) }

    /// The server's message with routes and members replaced by commands and options.
    ///
    /// It uses the detail, because titles are about bodies and URLs.
    var userMessage: String {
        // The router's own 404; a route's 404 names the missing object.
        guard code != "not_found" || !(detail.isEmpty || detail.contains("/openapi.json")) else {
            return
                "The server does not support this command. Update pollerd to this program's release."
        }
        guard items.isEmpty else { return itemsMessage }
        let isPlain = [400, 404, 409, 422].contains(status) && !detail.isEmpty
        return Self.commandText(isPlain ? detail : description, field: field)
    }

    /// The mistakes by source, or a single line if all sources have the same one.
    private var itemsMessage: String {
        let details = items.map { Self.commandText($0.detail, field: $0.field) }
        // The detail begins with the count of wrong items.
        let isOfAll = detail.hasPrefix("\(itemsTotal) of \(itemsTotal) ")
        if isOfAll, let only = details.first, Set(details).count == 1 { return only }
        let lines = zip(items, details).map { "source \($0.index + 1): \($1)" }
        let more = itemsTotal - items.count
        return
            (["some sources are invalid; correct them and repeat the command:"] + lines
            + (more > 0 ? ["… and \(more) more"] : [])).joined(separator: "\n")
    }

    private static func commandText(_ detail: String, field: String?) -> String {
        var text = detail
        for (route, command) in routes { text = text.replacing(route, with: command) }
        // The query is an argument without a name.
        if field == "q", text.hasPrefix("q ") { return "the query" + text.dropFirst(1) }
        // A repeated value has an index: `notify[0]`.
        guard let field, let name = field.split(separator: "[").first.map(String.init),
            !arguments.contains(name), !name.contains("."), text.hasPrefix("\(field) ")
        else { return text }
        let option = options[name] ?? name.replacing("_", with: "-")
        return "--" + option + text.dropFirst(field.count)
    }
}

extension Failure {
    /// A failed call to Stripe, with the same exit statuses.
    ///
    /// A read has no effect, so the message does not warn about repeating it.
    init(_ error: StripeError, base: String, isRead: Bool) {
        switch error {
        case .transport:
            let advice =
                isRead
                ? ""
                : " Stripe may have processed the request: repeat it only with the same "
                    + "--idempotency-key."
            message =
                "\(base): \(error)\nCheck the network, or POLLER_STRIPE_API_BASE.\(advice)"
            exitStatus = 69
        case .invalidRequest:
            message = error.description
            exitStatus = 64
        case .api(let failure) where failure.status == 401:
            message =
                "\(Self.text(failure))\nSTRIPE_API_KEY is not valid for this account. Set it to one of its keys."
            exitStatus = 77
        case .api(let failure) where failure.status == 403:
            message =
                "\(Self.text(failure))\nGive the key in STRIPE_API_KEY this permission in the Dashboard."
            exitStatus = 77
        case .api(let failure):
            message = Self.text(failure)
            exitStatus = 1
        case .bodyTooLarge, .malformed:
            message = "\(error)\nCheck that POLLER_STRIPE_API_BASE is the address of Stripe's API."
            exitStatus = 1
        }
    }

    /// Stripe's message, then the error's own description.
    private static func text(_ failure: APIFailure) -> String {
        let lines = [failure.error?.message, failure.description].compactMap { $0 }
        return lines.joined(separator: "\n")
    }
}
