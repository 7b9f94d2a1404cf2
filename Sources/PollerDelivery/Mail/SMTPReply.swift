import CCurl
import Poller

/// How a mail transaction ended.
struct SMTPReply: Hashable, Sendable {
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
    /// The relay's last line that refused something: `550 5.1.1 no such mailbox`.
    var line = ""

    /// What follows: 4xx may work later, 5xx about this mail never will.
    ///
    /// A refusal that is about us and not about the mail (login, TLS, a relay that greets with
    /// 554) is the operator's to mend and is tried again.
    var result: AttemptResult {
        guard code != CURLE_OK.rawValue else { return .delivered }
        let isAboutTheMail =
            code == CURLE_SEND_ERROR.rawValue || code == CURLE_RECV_ERROR.rawValue || isBodySent
        // RFC 4954 §6: authentication is missing, too weak, failed, or wants encryption.
        let isAboutUs = [530, 534, 535, 538].contains(status)
        if (500...599).contains(status), isAboutTheMail, !isAboutUs {
            return withExcerpt(.rejected("the relay answered \(status)", .refused, code: status))
        }
        let answer = status > 0 ? " (last answer \(status))" : ""
        let answered = status > 0 ? status : nil
        return withExcerpt(
            .failed("mail not accepted: \(message)\(answer)", kind, code: answered)
        )
    }

    /// Whether the relay knows that there is no such mailbox: nothing must be sent there again.
    ///
    /// *Source*: RFC 3463 §3.2 (X.1.x: the address; X.2.1: the mailbox is disabled); without an
    /// enhanced code, RFC 5321 §4.2.3 (550, 551, 553). A refusal for policy, X.7.x, is as often about
    /// us: it must not silence every customer of a relay that is set up wrong.
    var isHardBounce: Bool {
        guard code != CURLE_OK.rawValue, account.hasPrefix("RCPT failed"),
            (500...599).contains(status)
        else { return false }
        guard line.hasPrefix("\(status)") else { return false }
        // `550 5.1.1 no such mailbox`
        let second = line.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
        let isEnhanced = second.hasPrefix("5.") && second.split(separator: ".").count == 3
        guard isEnhanced else { return [550, 551, 553].contains(status) }
        return second.hasPrefix("5.1.") || second == "5.2.1"
    }

    private func withExcerpt(_ result: AttemptResult) -> AttemptResult {
        var result = result
        result.excerpt = Excerpt.text(line.utf8)
        return result
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
