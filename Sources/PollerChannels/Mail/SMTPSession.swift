import CCurl
import NIOCore
import PollerIdentity
import Synchronization

/// One libcurl handle with its connection to the relay.
///
/// *Problem*: SMTP with TLS, login and half a dozen extensions is too complex to implement again. libcurl implements
/// it, but its call blocks the thread, and only one thread at a time may use a handle.
/// *Approach*: each thread of the channel has a session (``SMTPSlot``), created with its first mail and kept.
/// `curl_easy_reset` clears the options of the last mail but keeps the connection, so a mail costs a transaction and
/// not a handshake.
/// *Cancellation*: about once a second libcurl calls a progress callback, which ends the transfer if the
/// ``AbortFlag`` is raised. ``RelayLimiter`` limits the attempts that wait for a thread.
/// *Timeouts* are those of RFC 5321 §4.5.3.2, within the time of the attempt (`CURLOPT_TIMEOUT_MS`). A relay that
/// distrusts a client delays its greeting.
///
/// | waiting for | RFC 5321 | here |
/// |---|---|---|
/// | a TCP connection, for each address | | 7 s (`ccurl_connects`) |
/// | the greeting, with TLS and login | 5 min | 5 min |
/// | the reply to `MAIL`, `RCPT`, `DATA` | 5, 5, 2 min | 10 min: libcurl has one limit for all |
/// | the reply to the message | 10 min | 10 min |
///
/// *Trusted input*: libcurl sends envelope addresses unchanged, so a line break in one would inject a command.
/// ``MailAddress`` rejects line breaks (<doc:DeliveryFacts>).
/// *Crash*: the relay may have accepted the mail although the result is lost. The next attempt sends the same bytes
/// with the same `Message-ID`.
///
/// A class, because the handle has one owner that must free it. It never leaves its thread.
@safe final class SMTPSession {
    /// Whether libcurl is loaded and its process-wide state is initialised.
    private static let isReady = ccurl_start() == CURLE_OK

    /// The limit of RFC 5321 §4.5.3.2.1.
    private static let greetingMs = 300_000
    /// The limit of RFC 5321 §4.5.3.2.6, the longest of its timeouts.
    private static let answerSeconds = 600

    private let handle: UnsafeMutableRawPointer

    /// Creates a session without a connection; returns `nil` if libcurl cannot start.
    init?() {
        guard Self.isReady, let handle = unsafe ccurl_open() else { return nil }
        unsafe self.handle = handle
    }

    deinit {
        unsafe ccurl_close(handle)
    }

    /// Sends one mail; blocks for at most `timeoutMs`.
    ///
    /// `isFresh` forces a new connection, even if one was kept.
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
        set(abort)
        var text = message.text
        return text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                var upload = unsafe ccurl_upload(
                    data: characters.baseAddress,
                    length: characters.count,
                    offset: 0
                )
                var reply = unsafe perform(&upload)
                reply.hidden = relay.credentialRedaction
                return reply
            }
        }
    }

    /// Checks whether the relay accepts mail from a sender; blocks for at most `timeoutMs`.
    ///
    /// It sends only `MAIL FROM` and then closes the connection, so no mail is sent. A relay that decides only at the
    /// recipient or the message accepts the sender here.
    func checkSender(
        about sender: MailAddress,
        at relay: SMTPRelay,
        timeoutMs: Int
    ) -> SMTPReply {
        configure(relay, helo: sender.domain, timeoutMs: timeoutMs)
        set(CURLOPT_FRESH_CONNECT, 1)
        // Without this option libcurl prints the relay's reply.
        set(CURLOPT_NOBODY, 1)
        // libcurl decodes percent signs here.
        let address = sender.description.replacing("%", with: "%25")
        set(CURLOPT_CUSTOMREQUEST, "MAIL FROM:<\(address)>")
        let limit = TimeAmount.milliseconds(Int64(clamping: timeoutMs))
        let abort = AbortFlag(deadline: .now() + limit + AbortFlag.margin)
        set(abort)
        return withExtendedLifetime(abort) {
            var reply = unsafe perform(nil)
            reply.hidden = relay.credentialRedaction
            return reply
        }
    }

    /// Ends the transfer when the flag is raised; the caller keeps the flag during the transfer.
    private func set(_ abort: AbortFlag) {
        _ = unsafe ccurl_set_progress(
            handle,
            { context, _, _, _, _ in
                guard let context = unsafe context else { return 0 }
                let flag = unsafe Unmanaged<AbortFlag>.fromOpaque(context).takeUnretainedValue()
                return flag.isRaised ? 1 : 0
            },
            unsafe Unmanaged.passUnretained(abort).toOpaque()
        )
    }

    /// Runs the transfer with buffers for libcurl's messages, which it writes during the transfer.
    ///
    /// `upload` is `nil` for a command without a message.
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
        // libcurl must not write into the buffers after they are gone.
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

    /// Sets all options for a mail, because the last reset cleared them.
    private func configure(_ relay: SMTPRelay, helo: String, timeoutMs: Int) {
        set(CURLOPT_URL, "\(relay)/\(helo)")
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        // An empty proxy also disables the proxy variables of the environment.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOSIGNAL, 1)
        // The limit covers the greeting and the login, not only the TCP connection.
        set(CURLOPT_CONNECTTIMEOUT_MS, min(Self.greetingMs, timeoutMs))
        // It also limits the wait for a reply to `QUIT` when the session ends.
        set(CURLOPT_SERVER_RESPONSE_TIMEOUT, min(Self.answerSeconds, timeoutMs / 1000 + 1))
        set(CURLOPT_TIMEOUT_MS, timeoutMs)
        _ = unsafe ccurl_set_connects(handle)
        set(CURLOPT_NETRC, Int(clamping: CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        // libcurl's folder of certificates stays trusted, too.
        if let file = relay.authorities { set(CURLOPT_CAINFO, file) }
        let protection = relay.protection == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        set(CURLOPT_USE_SSL, Int(clamping: protection.rawValue))
        if let user = relay.user, let password = relay.password {
            set(CURLOPT_USERNAME, user)
            set(CURLOPT_PASSWORD, password)
        }
    }

    private func set(_ option: CURLoption, _ value: String) {
        // The options are constants that libcurl knows. If memory runs out, `perform` fails.
        _ = unsafe ccurl_set_text(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = unsafe ccurl_set_long(handle, option, value)
    }
}

/// The storage for one thread's mail session, which is created with the first mail and kept.
///
/// A class, because a thread-specific variable requires one. The mutex is never contended. It proves to the compiler
/// that only one thread uses the libcurl handle.
final class SMTPSlot: Sendable {
    private let session = Mutex<SMTPSession?>(nil)

    /// Runs `body` with this thread's session; returns `nil` if libcurl cannot start.
    func withSession<R: Sendable>(_ body: @Sendable (SMTPSession) -> R) -> R? {
        session.withLock { session in
            if session == nil { session = SMTPSession() }
            return session.map { body($0) }
        }
    }
}

/// A flag that ends a blocking transfer on another thread.
final class AbortFlag: Sendable {
    /// The time after libcurl's own limit, whose error is better, until the flag is raised.
    static let margin = TimeAmount.seconds(1)

    private let raised = Atomic(false)
    private let deadline: NIODeadline

    /// Creates a flag that is also raised at a deadline.
    ///
    /// libcurl's own limit does not cover the wait for a reply to `QUIT`, which it sends after a rejection.
    init(deadline: NIODeadline) {
        self.deadline = deadline
    }

    /// Whether the transfer should end.
    var isRaised: Bool { raised.load(ordering: .relaxed) || .now() >= deadline }

    /// Ends the transfer within about a second.
    func raise() {
        raised.store(true, ordering: .relaxed)
    }
}
