import CCurl
import PollerDeliveries
import PollerIdentity

/// The result of a mail transaction.
struct SMTPReply: Sendable {
    /// The finding about the recipient or the relay.
    enum Finding: Hashable, Sendable {
        /// No finding.
        case nothing
        /// The mail was accepted.
        case accepted
        /// There is no such mailbox.
        case missingMailbox
        /// The relay rejects this client or is configured wrongly; contains its response without credentials.
        case relayFailure(String)
    }

    /// The result code of libcurl.
    let code: CURLcode.RawValue
    /// The status of the relay's last reply, or 0 if there was none.
    let status: Int
    /// Whether the whole message was sent.
    let isBodySent: Bool
    /// libcurl's message for its result code.
    let message: String
    /// libcurl's error details, which start with the rejected command.
    var account = ""
    /// The relay's negative reply, without that to a later `QUIT`, with all of its lines: `550 5.1.1 no such mailbox`.
    var line = ""
    /// Whether an existing connection was used.
    var isKept = false
    /// The credentials that the relay's replies may repeat.
    var hidden = Redaction.none

    /// The result of the delivery attempt; only a missing mailbox is permanent.
    ///
    /// A 5xx reply is "permanent" (RFC 5321 §4.2.1) for the command as it was sent. Relays also use it for
    /// greylisting, rate limits, a missing DNS record of the sender, or an expired login. Time or an operator
    /// resolves these, and the payer still needs the mail.
    var result: AttemptResult {
        guard code != CURLE_OK.rawValue else { return .delivered }
        if isMissingMailbox {
            let reason = "the relay answered \(status): the mailbox does not exist"
            return withExcerpt(.rejected(reason, .refused, code: status))
        }
        if isRefused {
            return withExcerpt(.failed("the relay answered \(status)", .refused, code: status))
        }
        let answer = status > 0 ? " (last answer \(status))" : ""
        let answered = status > 0 ? status : nil
        return withExcerpt(
            .failed("mail not accepted: \(message)\(answer)", kind, code: answered)
        )
    }

    /// The finding about the recipient or the relay in the relay's reply.
    var finding: Finding {
        guard code != CURLE_OK.rawValue else { return .accepted }
        if isMissingMailbox { return .missingMailbox }
        if recipientVerdict == .recipient { return .nothing }
        let isLogin = code == CURLE_LOGIN_DENIED.rawValue
        guard (500...599).contains(status) || kind == .tls || isLogin else { return .nothing }
        return .relayFailure(excerpt.isEmpty ? message : excerpt)
    }

    /// The relay's rejection of a sender; `nil` if the relay accepted it or did not reply to it.
    var refusalOfSender: String? {
        // If the reply to a custom command is negative, curl ends with this code.
        let isAnswer = code == CURLE_OK.rawValue || code == CURLE_WEIRD_SERVER_REPLY.rawValue
        guard isAnswer, (500...599).contains(status) else { return nil }
        return excerpt.isEmpty ? "\(status)" : excerpt
    }

    /// Whether the relay accepts mail from a sender.
    var isSenderAccepted: Bool {
        code == CURLE_OK.rawValue && (200..<300).contains(status)
    }

    /// Whether the relay has only closed a kept connection, so that an immediate retry on a new one is useful.
    ///
    /// A relay may limit the mails per connection and close it with 421 (RFC 5321 §3.8) or without a reply. No part
    /// of the message was sent, so it cannot arrive twice.
    var isEndOfConnection: Bool {
        guard isKept, !isBodySent else { return false }
        let isSilent =
            line.isEmpty
            && (code == CURLE_SEND_ERROR.rawValue || code == CURLE_RECV_ERROR.rawValue
                || code == CURLE_GOT_NOTHING.rawValue)
        return isSilent || status == 421
    }

    /// Whether the relay reports that the mailbox does not exist.
    private var isMissingMailbox: Bool { recipientVerdict == .missing }

    /// The meaning of a rejected recipient; `nil` if another command was rejected.
    private var recipientVerdict: MailboxVerdict? {
        guard code != CURLE_OK.rawValue, account.hasPrefix("RCPT failed"),
            (500...599).contains(status), line.hasPrefix("\(status)")
        else { return nil }
        return MailboxVerdict(refusal: line)
    }

    /// Whether the relay rejected this mail, not the login (RFC 4954 §6) or the connection.
    private var isRefused: Bool {
        let isAboutTheMail =
            code == CURLE_SEND_ERROR.rawValue || code == CURLE_RECV_ERROR.rawValue || isBodySent
        return (500...599).contains(status) && isAboutTheMail
            && ![530, 534, 535, 538].contains(status)
    }

    private func withExcerpt(_ result: AttemptResult) -> AttemptResult {
        var result = result
        result.excerpt = excerpt
        return result
    }

    /// An excerpt of the relay's reply, with line feeds as line ends.
    private var excerpt: String {
        let lines = line.split(whereSeparator: \.isNewline).joined(separator: "\n")
        return Excerpt.text(lines.utf8, hiding: hidden)
    }

    private var kind: AttemptClass {
        switch code {
        case CURLE_OPERATION_TIMEDOUT.rawValue: .timeout
        case CURLE_COULDNT_RESOLVE_HOST.rawValue: .dns
        case CURLE_COULDNT_CONNECT.rawValue: .connect
        case CURLE_USE_SSL_FAILED.rawValue, CURLE_SSL_CONNECT_ERROR.rawValue,
            CURLE_PEER_FAILED_VERIFICATION.rawValue:
            .tls
        case CURLE_LOGIN_DENIED.rawValue: .unauthorized
        case _ where status >= 400: .deferred
        default: .reset
        }
    }
}

/// The meaning of a relay's permanent rejection of a recipient.
///
/// *Problem*: RFC 5321 §4.2.3 defines 550 for a missing mailbox and also "for policy reasons", and relays use 551,
/// 553 and 554 the same way. A payer whose mailbox counts as missing gets no mail any more. So an error of the
/// sender, or a temporary problem of the relay, must never look like a missing mailbox.
/// *Approach*: a mailbox is missing only if the reply clearly says so. Either its code does (RFC 3463 §3.2), or its
/// text does if the code is absent or generic. A reply that also mentions the sender, limits or another time is not
/// evidence, regardless of its code.
enum MailboxVerdict: Hashable, Sendable {
    /// The mailbox does not exist.
    case missing
    /// The problem is the recipient, but the mailbox may exist: it is full or disabled, or its domain is bad.
    case recipient
    /// The problem is the sender, or unknown.
    case relay

    /// Bad mailbox, moved without a new address (RFC 3463 §3.2), and a domain without mail (RFC 7505 §4.2).
    private static let missingCodes: Set<String> = ["5.1.1", "5.1.6", "5.1.10"]
    /// Enhanced status codes for a fault of the recipient (RFC 3463 §3.2, §3.3).
    ///
    /// They mean a bad host, a bad syntax or an ambiguous address; a mailbox that is disabled, full or refuses the
    /// length; or a failing mailing list.
    private static let recipientCodes: Set<String> = [
        "5.1.2", "5.1.3", "5.1.4", "5.2.1", "5.2.2", "5.2.3", "5.2.4",
    ]
    private static let missingMailboxPhrases = [
        "no such user", "no such mailbox", "no such recipient", "no such account",
        "no such address",
        "no such person", "no such local user", "no mailbox here by that name", "user unknown",
        "unknown user", "recipient unknown", "unknown recipient", "mailbox unknown",
        "unknown mailbox", "account unknown", "unknown account", "unknown local part",
        "user not found", "mailbox not found", "recipient not found", "account not found",
        "does not exist", "doesn't exist", "not a known user", "not a valid mailbox",
    ]
    /// Phrases for another time, limits and suspicion.
    private static let temporaryPhrases = [
        "greylist", "graylist", "try again", "later", "too many", "exceed", "quota", "rate limit",
        "limited", "throttl", "tempor", "spam", "blocked", "blacklist", "blocklist", "block list",
        "rbl", "starttls", "encrypt",
    ]
    /// Phrases about the sender, used if no code shows the reason.
    private static let senderPhrases = [
        "relay", "denied", "permitted", "prohibit", "policy", "authenticat", "sender", "rcpthosts",
        "reputation", "spf", "dkim", "dmarc", "ptr", "dns", "helo", "ehlo", "hostname",
        "client host",
        "your ",
    ]

    /// Parses a reply with all of its lines.
    init(refusal answer: String) {
        // Skips the status and the separator, a space or a `-`.
        let lines = answer.split(whereSeparator: \.isNewline).map { $0.dropFirst(4) }
        let replyText = lines.joined(separator: " ").lowercased()
        let code = lines.lazy.compactMap(Self.enhancedCode).first
        let isElsewhere = Self.temporaryPhrases.contains { replyText.contains($0) }
        if let code, Self.recipientCodes.contains(code) {
            self = .recipient
        } else if let code, Self.missingCodes.contains(code) {
            self = isElsewhere ? .relay : .missing
        } else if let code, !code.hasSuffix(".0") {
            self = .relay
        } else {
            let isOurs = isElsewhere || Self.senderPhrases.contains { replyText.contains($0) }
            let isMissing = Self.missingMailboxPhrases.contains { replyText.contains($0) }
            self = isMissing && !isOurs ? .missing : .relay
        }
    }

    /// Returns the code of RFC 3463 in a line, at its start (`5.1.1 no such mailbox`) or as in qmail (`(#5.1.1)`).
    private static func enhancedCode(_ line: Substring) -> String? {
        let words = line.split(separator: " ")
        let first = words.first.map { [$0] } ?? []
        let marked = words.filter { $0.hasPrefix("(#") }.map { $0.dropFirst(2) }
        for word in first + marked {
            let parts = word.prefix { $0.isNumber || $0 == "." }.split(separator: ".")
            if parts.count == 3, parts.first == "5" { return parts.joined(separator: ".") }
        }
        return nil
    }
}
