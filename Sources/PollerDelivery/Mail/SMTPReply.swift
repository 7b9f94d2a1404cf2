import CCurl
import Poller
import PollerIdentity

/// How a mail transaction ended.
struct SMTPReply: Sendable {
    /// What it says beside the mail itself.
    enum Finding: Hashable, Sendable {
        /// Nothing about anybody.
        case nothing
        /// The mail was accepted.
        case accepted
        /// There is no such mailbox.
        case missingMailbox
        /// The relay refuses us, or is set up wrong; its answer, without what it was told in confidence.
        case relayTrouble(String)
    }

    /// libcurl's verdict.
    let code: CURLcode.RawValue
    /// The relay's last reply, 0 when there was none.
    let status: Int
    /// Whether the whole message had been handed over.
    let isBodySent: Bool
    /// libcurl's own words for its verdict.
    let message: String
    /// libcurl's own words for what happened, which begin with the command that was refused.
    var account = ""
    /// The relay's last reply that refused something, with all of its lines: `550 5.1.1 no such mailbox`.
    var line = ""
    /// Whether the connection was there already.
    var isKept = false
    /// What the relay was told in confidence, and may repeat.
    var hidden = Redaction.none

    /// What follows for the mail: only a mailbox that does not exist ends it, everything else may work later.
    ///
    /// A 5xx is "permanent" (RFC 5321 §4.2.1) for what was tried as it was tried. Relays answer it to greylisting, to
    /// rates, to a missing DNS record of ours, to a login that has ended: the operator or time mends that, and the
    /// payer's mail is still wanted.
    var result: AttemptResult {
        guard code != CURLE_OK.rawValue else { return .delivered }
        if isMissingMailbox {
            let reason = "the relay answered \(status): there is no such mailbox"
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

    /// What the relay's answer says of the recipient or of the relay.
    var finding: Finding {
        guard code != CURLE_OK.rawValue else { return .accepted }
        if isMissingMailbox { return .missingMailbox }
        if recipientVerdict == .recipient { return .nothing }
        let isLogin = code == CURLE_LOGIN_DENIED.rawValue
        guard (500...599).contains(status) || kind == .tls || isLogin else { return .nothing }
        return .relayTrouble(excerpt.isEmpty ? message : excerpt)
    }

    /// The relay's refusal of a sender; nil if the relay accepted it, or did not answer about it.
    var refusalOfSender: String? {
        // For an answer without success curl ends our own command with this code.
        let isAnswer = code == CURLE_OK.rawValue || code == CURLE_WEIRD_SERVER_REPLY.rawValue
        guard isAnswer, (500...599).contains(status) else { return nil }
        return excerpt.isEmpty ? "\(status)" : excerpt
    }

    /// Whether the relay accepts mail from a sender.
    var isSenderAccepted: Bool {
        code == CURLE_OK.rawValue && (200..<300).contains(status)
    }

    /// Whether the relay has only ended a connection that was kept: the mail is worth another one at once.
    ///
    /// A relay may take so many mails a connection, and end it with 421 (RFC 5321 §3.8) or without a word. Nothing of the
    /// message was sent, so that it cannot be there twice.
    var isEndOfConnection: Bool {
        guard isKept, !isBodySent else { return false }
        let isSilent =
            line.isEmpty
            && (code == CURLE_SEND_ERROR.rawValue || code == CURLE_RECV_ERROR.rawValue
                || code == CURLE_GOT_NOTHING.rawValue)
        return isSilent || status == 421
    }

    /// Whether the relay knows that there is no such mailbox.
    private var isMissingMailbox: Bool { recipientVerdict == .missing }

    /// What a refusal of the recipient says; nil where something else was refused.
    private var recipientVerdict: MailboxVerdict? {
        guard code != CURLE_OK.rawValue, account.hasPrefix("RCPT failed"),
            (500...599).contains(status), line.hasPrefix("\(status)")
        else { return nil }
        return MailboxVerdict(refusal: line)
    }

    /// Whether the relay refused this mail: not the login (RFC 4954 §6), and not the connection.
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

    /// What the relay answered, with the line ends of texts here.
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

/// What a relay's permanent refusal of a recipient is about.
///
/// *Problem*: RFC 5321 §4.2.3 gives 550 for a mailbox that is missing and also "for policy reasons", and relays use 551,
/// 553 and 554 alike. A payer who is taken for missing gets no mail any more, so a mistake of ours, or a bad hour of
/// the relay, must never look like that.
/// *Approach*: a mailbox is missing only where the answer says so: by its code (RFC 3463 §3.2), or, where the code is
/// absent or says nothing in particular, in words. An answer that also speaks of us, of limits or of another time is
/// no evidence, whatever its code.
enum MailboxVerdict: Hashable, Sendable {
    /// There is no such mailbox.
    case missing
    /// It is about the recipient, and no evidence that the mailbox is missing: a full or disabled one, a bad domain.
    case recipient
    /// It is about us, or nobody can tell.
    case relay

    /// Bad mailbox, moved without a new address (RFC 3463 §3.2), a domain without mail (RFC 7505 §4.2).
    private static let missingCodes: Set<String> = ["5.1.1", "5.1.6", "5.1.10"]
    /// A bad host or form of the address; a mailbox that is disabled, full or too small, a list that has trouble.
    private static let recipientCodes: Set<String> = [
        "5.1.2", "5.1.3", "5.1.4", "5.2.1", "5.2.2", "5.2.3", "5.2.4",
    ]
    /// What servers say of a mailbox that they do not have.
    private static let wordsOfMissing = [
        "no such user", "no such mailbox", "no such recipient", "no such account",
        "no such address",
        "no such person", "no such local user", "no mailbox here by that name", "user unknown",
        "unknown user", "recipient unknown", "unknown recipient", "mailbox unknown",
        "unknown mailbox", "account unknown", "unknown account", "unknown local part",
        "user not found", "mailbox not found", "recipient not found", "account not found",
        "does not exist", "doesn't exist", "not a known user", "not a valid mailbox",
    ]
    /// What they say of another time, of limits and of suspicion.
    private static let wordsOfNow = [
        "greylist", "graylist", "try again", "later", "too many", "exceed", "quota", "rate limit",
        "limited", "throttl", "tempor", "spam", "blocked", "blacklist", "blocklist", "block list",
        "rbl", "starttls", "encrypt",
    ]
    /// What they say of us, where no code says what it is about.
    private static let wordsOfUs = [
        "relay", "denied", "permitted", "prohibit", "policy", "authenticat", "sender", "rcpthosts",
        "reputation", "spf", "dkim", "dmarc", "ptr", "dns", "helo", "ehlo", "hostname",
        "client host",
        "your ",
    ]

    /// Reads an answer with all of its lines.
    init(refusal answer: String) {
        // Behind the status and what stands between, a space or a `-`.
        let lines = answer.split(whereSeparator: \.isNewline).map { $0.dropFirst(4) }
        let said = lines.joined(separator: " ").lowercased()
        let code = lines.lazy.compactMap(Self.enhancedCode).first
        let isElsewhere = Self.wordsOfNow.contains { said.contains($0) }
        if let code, Self.recipientCodes.contains(code) {
            self = .recipient
        } else if let code, Self.missingCodes.contains(code) {
            self = isElsewhere ? .relay : .missing
        } else if let code, !code.hasSuffix(".0") {
            self = .relay
        } else {
            let isOurs = isElsewhere || Self.wordsOfUs.contains { said.contains($0) }
            let isMissing = Self.wordsOfMissing.contains { said.contains($0) }
            self = isMissing && !isOurs ? .missing : .relay
        }
    }

    /// The code of RFC 3463 in a line: at its beginning, `5.1.1 no such mailbox`, or as qmail has it, `(#5.1.1)`.
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
