import Foundation
import PollerClient
import StripeAPI

/// A failed request as the user sees it: what happened, what to do, and an exit status.
struct Failure {
    let message: String
    let exitStatus: Int32

    /// Statuses of sysexits.h where there is one: 64 usage, 69 unavailable, 77 not allowed.
    init(_ error: PollerError, hasKey: Bool, of url: String) {
        switch error {
        case .invalidConfiguration(let reason):
            message = reason
            exitStatus = 64
        case .unreachable(_, PollerClient.distrusted):
            message =
                "\(error)\nIf an authority of your own has signed it, name its certificate with "
                + "--ca-file PATH or POLLER_CA_FILE."
            exitStatus = 69
        case .unreachable:
            message =
                "\(error)\nCheck that pollerd runs there, or name another server with POLLER_URL."
            exitStatus = 69
        case .problem(let problem) where problem.isFromOtherServer:
            message =
                problem.status >= 500
                ? "\(url) answers \(problem.status) and says nothing else: what stands before "
                    + "pollerd does not reach it\nCheck that it runs, and repeat the command."
                : "\(url) answers, and is no API of pollerd\nName the API's address with POLLER_URL: "
                    + "pollerd prints it as it starts."
            exitStatus = 69
        case .problem(let problem) where problem.status == 401:
            message =
                hasKey
                ? "POLLER_API_KEY is not a key of this server, or it has ended or was revoked."
                : "This server wants a key: set POLLER_API_KEY.\nWho may makes one with pollerctl "
                    + "key create; the first one is made beside Redis, with pollerd key create."
            exitStatus = 77
        case .problem(let problem) where problem.status == 403:
            message = problem.userMessage
            exitStatus = 77
        case .problem(let problem):
            var lines = [problem.userMessage]
            if let id = problem.requestID, problem.status >= 500 {
                lines.append("The server's log has more under the request id \(id).")
            }
            message = lines.joined(separator: "\n")
            exitStatus = problem.isUsageError ? 64 : 1
        case .unintelligible:
            message =
                "\(error)\nIs \(url) the API of a pollerd, and of a release that is known here?"
            exitStatus = 1
        }
    }
}

extension PollerProblem {
    /// Where the server speaks of its routes, and what does the same here.
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
            "Repeat the command in a moment, which is safe; pollerctl doctor says what is wrong."
        ),
        ("Send the request again later;", "Repeat the command later;"),
        ("before you send this again, or send it with", "before you repeat this, or do it with"),
        ("notify_by.endpoint", "--fallback"),
        ("GET its progress", "see its progress with --show"),
        ("an Idempotency-Key", "an --idempotency-key"),
        ("This Idempotency-Key", "This --idempotency-key"),
        ("this Idempotency-Key", "this --idempotency-key"),
    ]
    /// Members of requests that are arguments here; the others are options.
    private static let arguments = [
        "source", "url", "delivery", "endpoint", "lane", "charge", "order", "key", "recipient",
    ]
    /// Members whose options are called something else here.
    private static let options = [
        "headers": "header", "sources": "source", "expires_in": "expires", "accounts": "account",
        "created_after": "since", "created_before": "until",
    ]

    /// Whether who answered is none of ours: we always say which problem it is.
    var isFromOtherServer: Bool { code == "http_\(status)" }

    /// Whether what was typed is wrong, and not only refused at this moment.
    var isUsageError: Bool { [400, 422].contains(status) }

    /// What the server says, in the words of somebody who has typed a command.
    ///
    /// Titles speak of bodies and URLs; what is wrong, the detail says.
    var userMessage: String {
        // The answer of the router; a route names the missing object itself.
        guard code != "not_found" || !(detail.isEmpty || detail.contains("/openapi.json")) else {
            return "The server does not know of this: it may be older than this program."
        }
        guard items.isEmpty else { return itemsMessage }
        let isPlain = [400, 404, 409, 422].contains(status) && !detail.isEmpty
        return Self.commandText(isPlain ? detail : description, field: field)
    }

    /// What is wrong with some of the sources; said once when it is the same of all, as options are.
    private var itemsMessage: String {
        let details = items.map { Self.commandText($0.detail, field: $0.field) }
        // It begins with how many of how many are wrong.
        let isOfAll = detail.hasPrefix("\(itemsTotal) of \(itemsTotal) ")
        if isOfAll, let only = details.first, Set(details).count == 1 { return only }
        let lines = zip(items, details).map { "source \($0.index + 1): \($1)" }
        let more = itemsTotal - items.count
        return
            (["some are wrong; correct them and repeat the command:"] + lines
            + (more > 0 ? ["… and \(more) more"] : [])).joined(separator: "\n")
    }

    private static func commandText(_ detail: String, field: String?) -> String {
        var text = detail
        for (route, command) in routes { text = text.replacing(route, with: command) }
        // What is looked for has no name on a command line.
        if field == "q", text.hasPrefix("q ") { return "the search" + text.dropFirst(1) }
        // A value of several is `notify[0]`.
        guard let field, let name = field.split(separator: "[").first.map(String.init),
            !arguments.contains(name), !name.contains("."), text.hasPrefix("\(field) ")
        else { return text }
        let option = options[name] ?? name.replacing("_", with: "-")
        return "--" + option + text.dropFirst(field.count)
    }
}

extension Failure {
    /// A failed call to Stripe; statuses as for one to our own server.
    ///
    /// A read has no effect, so it is repeated as one likes.
    init(_ error: StripeError, base: String, isRead: Bool) {
        switch error {
        case .transport:
            let advice =
                isRead
                ? ""
                : " What was asked may have happened all the same: repeat it with the same "
                    + "--idempotency-key only."
            message =
                "\(base): \(error)\nCheck the network, or POLLER_STRIPE_API_BASE.\(advice)"
            exitStatus = 69
        case .invalidRequest:
            message = error.description
            exitStatus = 64
        case .api(let failure) where failure.status == 401:
            message = "\(Self.text(failure))\nSTRIPE_API_KEY is not a key of this account."
            exitStatus = 77
        case .api(let failure) where failure.status == 403:
            message = "\(Self.text(failure))\nThe key in STRIPE_API_KEY lacks this permission."
            exitStatus = 77
        case .api(let failure):
            message = Self.text(failure)
            exitStatus = 1
        case .bodyTooLarge, .malformed:
            message = "\(error)\nIs POLLER_STRIPE_API_BASE the address of Stripe's API?"
            exitStatus = 1
        }
    }

    /// What Stripe says, for the person who asked.
    private static func text(_ failure: APIFailure) -> String {
        let lines = [failure.error?.message, failure.description].compactMap { $0 }
        return lines.joined(separator: "\n")
    }
}
