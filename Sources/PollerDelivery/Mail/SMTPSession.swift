import CCurl
import Poller

/// One libcurl handle and the connection it keeps to the relay.
///
/// A class, because the handle has an owner that must free it; it never leaves its thread.
@safe final class SMTPSession {
    /// libcurl's process-wide state; a static is made once, whoever comes first.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private let handle: UnsafeMutableRawPointer

    /// A session that has not connected yet; nil when libcurl cannot start.
    init?() {
        guard Self.isReady, let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = handle
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
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
        let recipients = unsafe curl_slist_append(nil, "<\(message.recipient)>")
        defer { unsafe curl_slist_free_all(recipients) }
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
                return unsafe perform(&upload)
            }
        }
    }

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
        let code = unsafe curl_easy_perform(handle)
        // Nothing may write into them once they are gone.
        defer { unsafe curl_easy_reset(handle) }
        var status = 0
        _ = unsafe ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        return SMTPReply(
            code: code.rawValue,
            status: status,
            isBodySent: unsafe upload.pointee.offset == upload.pointee.length,
            message: unsafe String(cString: curl_easy_strerror(code)),
            account: unsafe String(cString: ccurl_error(words)),
            line: unsafe String(cString: ccurl_reply(words))
        )
    }

    private func configure(_ relay: SMTPRelay, helo: String, timeoutMs: Int) {
        set(CURLOPT_URL, "\(relay)/\(helo)")
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        // An empty proxy also keeps the proxy variables of the environment out.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, min(10_000, timeoutMs))
        set(CURLOPT_TIMEOUT_MS, timeoutMs)
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        let protection = relay.protection == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        set(CURLOPT_USE_SSL, Int(protection.rawValue))
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
