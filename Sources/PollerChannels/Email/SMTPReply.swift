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
    /// libcurl's own words.
    let message: String

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
            return .rejected("the relay answered \(status)")
        }
        let answer = status > 0 ? " (last answer \(status))" : ""
        return .failed("mail not accepted: \(message)\(answer)", after: nil)
    }
}
