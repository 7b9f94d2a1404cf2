import CCurl
import Poller
import Synchronization

/// One libcurl handle and the connection it keeps to the relay.
///
/// *Problem*: SMTP with TLS, login and half a dozen extensions is not ours to write again; libcurl
/// has it, as a call that blocks its thread and a handle that one thread at a time may use.
/// *Approach*: each thread of the channel has a session (``SMTPSlot``), made with its first mail and
/// kept. `curl_easy_reset` forgets the options of the last mail and keeps the connection, so a mail
/// costs a transaction and not a handshake.
/// *Ending it*: libcurl asks a progress callback about once a second whether to go on; that reads an
/// ``AbortFlag``. ``RelayLimiter`` bounds who waits for a thread, `CURLOPT_TIMEOUT_MS` how long one
/// transaction may take.
/// *Trusted input*: libcurl puts envelope addresses on the wire as they are, so a line break in one
/// would be a command of its own; ``MailAddress`` lets none pass (<doc:DeliveryFacts>).
/// *After a crash* the mail may have been accepted without anybody here knowing: the next attempt
/// sends the same bytes with the same `Message-ID`.
///
/// A class, because the handle has an owner that must free it; it never leaves its thread.
@safe final class SMTPSession {
    /// libcurl, loaded, and its process-wide state; a static is made once.
    private static let isReady = ccurl_start() == CURLE_OK

    private let handle: UnsafeMutableRawPointer

    /// A session that has not connected yet; nil when libcurl cannot start.
    init?() {
        guard Self.isReady, let handle = unsafe ccurl_open() else { return nil }
        unsafe self.handle = handle
    }

    deinit {
        unsafe ccurl_close(handle)
    }

    /// Sends one mail; blocks for at most `timeoutMs`.
    func send(
        _ message: MailMessage,
        from sender: MailAddress,
        through relay: SMTPRelay,
        timeoutMs: Int,
        abort: AbortFlag
    ) -> SMTPReply {
        configure(relay, helo: sender.domain, timeoutMs: timeoutMs)
        set(CURLOPT_MAIL_FROM, "<\(sender)>")
        let recipients = unsafe ccurl_list("<\(message.recipient)>")
        defer { unsafe ccurl_free_list(recipients) }
        _ = unsafe ccurl_set_list(handle, CURLOPT_MAIL_RCPT, recipients)
        _ = unsafe ccurl_set_progress(
            handle,
            { context, _, _, _, _ in
                guard let context = unsafe context else { return 0 }
                let flag = unsafe Unmanaged<AbortFlag>.fromOpaque(context).takeUnretainedValue()
                return flag.isRaised ? 1 : 0
            },
            unsafe Unmanaged.passUnretained(abort).toOpaque()
        )
        var text = message.text
        return text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                var upload = unsafe ccurl_upload(
                    data: characters.baseAddress,
                    length: characters.count,
                    offset: 0
                )
                var reply = unsafe perform(&upload)
                reply.hidden = relay.confidences
                return reply
            }
        }
    }

    /// Runs the transfer with room for libcurl's own words, which it writes while it runs.
    private func perform(_ upload: UnsafeMutablePointer<ccurl_upload>) -> SMTPReply {
        _ = unsafe ccurl_set_upload(handle, upload)
        var words = ccurl_words()
        return unsafe withUnsafeMutablePointer(to: &words) { words in
            _ = unsafe ccurl_set_words(handle, words)
            return unsafe perform(upload, words)
        }
    }

    private func perform(
        _ upload: UnsafeMutablePointer<ccurl_upload>,
        _ words: UnsafeMutablePointer<ccurl_words>
    ) -> SMTPReply {
        let code = unsafe ccurl_perform(handle)
        // Nothing may write into them once they are gone.
        defer { unsafe ccurl_reset(handle) }
        var status = 0
        _ = unsafe ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        return SMTPReply(
            code: code.rawValue,
            status: status,
            isBodySent: unsafe upload.pointee.offset == upload.pointee.length,
            message: unsafe String(cString: ccurl_explain(code)),
            account: unsafe String(cString: ccurl_error(words)),
            line: unsafe String(cString: ccurl_reply(words))
        )
    }

    /// Everything anew for each mail: what the last one set has been forgotten.
    private func configure(_ relay: SMTPRelay, helo: String, timeoutMs: Int) {
        set(CURLOPT_URL, "\(relay)/\(helo)")
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        // An empty proxy also keeps the proxy variables of the environment out.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, min(10_000, timeoutMs))
        set(CURLOPT_TIMEOUT_MS, timeoutMs)
        set(CURLOPT_NETRC, Int(clamping: CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        // Beside libcurl's folder of certificates, which this leaves as it is.
        if let file = relay.authorities { set(CURLOPT_CAINFO, file) }
        let protection = relay.protection == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        set(CURLOPT_USE_SSL, Int(clamping: protection.rawValue))
        if let user = relay.user, let password = relay.password {
            set(CURLOPT_USERNAME, user)
            set(CURLOPT_PASSWORD, password)
        }
    }

    private func set(_ option: CURLoption, _ value: String) {
        // The options are constants that libcurl knows; running out of memory shows in perform.
        _ = unsafe ccurl_set_text(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = unsafe ccurl_set_long(handle, option, value)
    }
}

/// One thread's place for a mail session, made with the first mail and kept.
///
/// A class, because that is what a thread-specific variable holds; the mutex is never contended,
/// it is how the compiler knows that the libcurl handle stays with one user.
final class SMTPSlot: Sendable {
    private let session = Mutex<SMTPSession?>(nil)

    /// Runs `body` with this thread's session; nil when libcurl cannot start.
    func withSession<R: Sendable>(_ body: @Sendable (SMTPSession) -> R) -> R? {
        session.withLock { session in
            if session == nil { session = SMTPSession() }
            return session.map { body($0) }
        }
    }
}

/// Tells a blocking transfer on another thread to end.
///
/// A class, because both sides hold it.
final class AbortFlag: Sendable {
    private let raised = Atomic(false)

    /// Whether the transfer shall end.
    var isRaised: Bool { raised.load(ordering: .relaxed) }

    /// Ends the transfer, within about a second.
    func raise() {
        raised.store(true, ordering: .relaxed)
    }
}

/// How a mail transaction ended.
struct SMTPReply: Sendable {
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
    /// What the relay was told in confidence, and may repeat.
    var hidden = Redaction.none

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
    /// *Source*: RFC 3463 §3.2 (`mailboxCodes`); without an enhanced code, RFC 5321 §4.2.3 (550, 551,
    /// 553). That gives 550 also "for policy reasons", and such a refusal, as X.7.x and those of senders
    /// (X.1.7, X.1.8), is about us: it must not silence every customer of a relay that is set up wrong. So without a
    /// code it counts only where the text says nothing of that; who is not suppressed is only refused again.
    var isHardBounce: Bool {
        guard code != CURLE_OK.rawValue, account.hasPrefix("RCPT failed"),
            (500...599).contains(status)
        else { return false }
        guard line.hasPrefix("\(status)") else { return false }
        // Behind the status and what stands between, a space or a `-`.
        let lines = line.split(whereSeparator: \.isNewline).map { $0.dropFirst(4) }
        if let known = lines.lazy.compactMap(Self.enhancedCode).first {
            return Self.mailboxCodes.contains(known)
        }
        guard [550, 551, 553].contains(status) else { return false }
        let said = lines.joined(separator: " ").lowercased()
        return !Self.wordsAboutUs.contains { said.contains($0) }
    }

    /// No such mailbox (1), host (2) or form of address (3), one that has moved (6) or takes no mail at all (10);
    /// one that is disabled.
    private static let mailboxCodes: Set<String> = [
        "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1",
    ]

    /// What relays say when they refuse us, or this mail, and not the mailbox.
    private static let wordsAboutUs = [
        "relay", "denied", "permitted", "prohibit", "policy", "block", "blacklist", "authenticat",
        "spam", "sender", "rcpthosts", "reputation", "spf", "dkim", "dmarc",
    ]

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

    private func withExcerpt(_ result: AttemptResult) -> AttemptResult {
        var result = result
        result.excerpt = Excerpt.text(line.utf8, hiding: hidden)
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
