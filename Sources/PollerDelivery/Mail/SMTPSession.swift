import CCurl
import Poller
import PollerIdentity
import Synchronization

/// One libcurl handle and the connection it keeps to the relay.
///
/// *Problem*: SMTP with TLS, login and half a dozen extensions is not ours to write again; libcurl
/// has it, as a call that blocks its thread and a handle that one thread at a time may use.
/// *Approach*: each thread of the channel has a session (``SMTPSlot``), made with its first mail and
/// kept. `curl_easy_reset` forgets the options of the last mail and keeps the connection, so a mail
/// costs a transaction and not a handshake.
/// *Ending it*: libcurl asks a progress callback about once a second whether to go on; that reads an
/// ``AbortFlag``. ``RelayLimiter`` bounds who waits for a thread.
/// *Timeouts* are those of RFC 5321 §4.5.3.2, within the time of the attempt (`CURLOPT_TIMEOUT_MS`): a relay that has
/// doubts about us lets us wait for its greeting.
///
/// | waiting for | RFC 5321 | here |
/// |---|---|---|
/// | a TCP connection, for each address | | 7 s (`ccurl_connects`) |
/// | the greeting, with TLS and login | 5 min | 5 min |
/// | the answer to `MAIL`, `RCPT`, `DATA` | 5, 5, 2 min | 10 min: libcurl has one limit for all |
/// | the answer to the message | 10 min | 10 min |
///
/// *Trusted input*: libcurl puts envelope addresses on the wire as they are, so a line break in one
/// would be a command of its own; ``MailAddress`` lets none pass (<doc:DeliveryFacts>).
/// *After a crash* the mail may have been accepted without anybody here knowing: the next attempt
/// sends the same bytes with the same `Message-ID`.
///
/// A class, because the handle has an owner that must free it; it never leaves its thread.
@safe final class SMTPSession {
    /// libcurl, loaded, and its process-wide state; a static is made once.
    private static let isReady = ccurl_start() == CURLE_OK

    /// RFC 5321 §4.5.3.2.1.
    private static let greetingMs = 300_000
    /// RFC 5321 §4.5.3.2.6, the longest of its timeouts.
    private static let answerSeconds = 600

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
    ///
    /// `isFresh` has a connection made for it, also where one was kept.
    func send(
        _ message: MailMessage,
        from sender: MailAddress,
        through relay: SMTPRelay,
        isFresh: Bool = false,
        timeoutMs: Int,
        abort: AbortFlag
    ) -> SMTPReply {
        configure(relay, helo: sender.domain, timeoutMs: timeoutMs)
        set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
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

    /// Checks whether the relay accepts mail from a sender; blocks for at most `timeoutMs`.
    ///
    /// It sends `MAIL FROM` and nothing else, then the connection ends: no mail is begun. A relay that decides only at
    /// the recipient or the message accepts the sender here.
    func ask(
        about sender: MailAddress,
        at relay: SMTPRelay,
        timeoutMs: Int
    ) -> SMTPReply {
        configure(relay, helo: sender.domain, timeoutMs: timeoutMs)
        set(CURLOPT_FRESH_CONNECT, 1)
        // Without it libcurl prints the relay's answer.
        set(CURLOPT_NOBODY, 1)
        // libcurl decodes percent signs here.
        let address = sender.description.replacing("%", with: "%25")
        set(CURLOPT_CUSTOMREQUEST, "MAIL FROM:<\(address)>")
        var reply = unsafe perform(nil)
        reply.hidden = relay.confidences
        return reply
    }

    /// Runs the transfer with room for libcurl's own words, which it writes while it runs.
    ///
    /// `upload` is nil for a command without a message.
    private func perform(_ upload: UnsafeMutablePointer<ccurl_upload>?) -> SMTPReply {
        if let upload = unsafe upload { _ = unsafe ccurl_set_upload(handle, upload) }
        var words = ccurl_words()
        return unsafe withUnsafeMutablePointer(to: &words) { words in
            _ = unsafe ccurl_set_words(handle, words)
            return unsafe perform(upload, words)
        }
    }

    private func perform(
        _ upload: UnsafeMutablePointer<ccurl_upload>?,
        _ words: UnsafeMutablePointer<ccurl_words>
    ) -> SMTPReply {
        let code = unsafe ccurl_perform(handle)
        // Nothing may write into them once they are gone.
        defer { unsafe ccurl_reset(handle) }
        var status = 0
        _ = unsafe ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        var connects = 0
        _ = unsafe ccurl_get_long(handle, CURLINFO_NUM_CONNECTS, &connects)
        let isSent = unsafe upload.map { unsafe $0.pointee.offset == $0.pointee.length } ?? false
        return SMTPReply(
            code: code.rawValue,
            status: status,
            isBodySent: isSent,
            message: unsafe String(cString: ccurl_explain(code)),
            account: unsafe String(cString: ccurl_error(words)),
            line: unsafe String(cString: ccurl_reply(words)),
            isKept: connects == 0
        )
    }

    /// Everything anew for each mail: what the last one set has been forgotten.
    private func configure(_ relay: SMTPRelay, helo: String, timeoutMs: Int) {
        set(CURLOPT_URL, "\(relay)/\(helo)")
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        // An empty proxy also keeps the proxy variables of the environment out.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOSIGNAL, 1)
        // Until the greeting and the login are over, not until the socket is connected.
        set(CURLOPT_CONNECTTIMEOUT_MS, min(Self.greetingMs, timeoutMs))
        set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Self.answerSeconds)
        set(CURLOPT_TIMEOUT_MS, timeoutMs)
        _ = unsafe ccurl_set_connects(handle)
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
