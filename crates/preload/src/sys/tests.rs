use std::mem::offset_of;

use super::*;

#[test]
fn constants_are_those_of_the_c_library() {
    let pairs = [
        (EAGAIN, libc::EAGAIN),
        (EPIPE, libc::EPIPE),
        (MSG_DONTWAIT, libc::MSG_DONTWAIT),
        (MSG_EOR, libc::MSG_EOR),
        (MSG_NOSIGNAL, libc::MSG_NOSIGNAL),
        (TCP_NODELAY, libc::TCP_NODELAY),
        (TCP_CORK, libc::TCP_CORK),
        (TCP_INFO, libc::TCP_INFO),
        (TCP_ULP, libc::TCP_ULP),
        (IPPROTO_TCP, libc::IPPROTO_TCP),
        (c_int::from(AF_INET), libc::AF_INET),
        (c_int::from(AF_INET6), libc::AF_INET6),
        (F_GETFL, libc::F_GETFL),
        (O_NONBLOCK, libc::O_NONBLOCK),
        (O_RDWR_CLOEXEC, libc::O_RDWR | libc::O_CLOEXEC),
        (PROT_READ_WRITE, libc::PROT_READ | libc::PROT_WRITE),
        (MAP_SHARED, libc::MAP_SHARED),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs);
    }
    assert_eq!(RTLD_NEXT, libc::RTLD_NEXT);
    assert_eq!(ADDRESS as usize, size_of::<libc::sockaddr_storage>());
}

#[test]
fn structures_are_those_of_the_c_library() {
    assert_eq!(size_of::<IoVec>(), size_of::<libc::iovec>());
    assert_eq!(offset_of!(IoVec, len), offset_of!(libc::iovec, iov_len));
    assert_eq!(size_of::<MessageHeader>(), size_of::<libc::msghdr>());
    let pairs = [
        (offset_of!(MessageHeader, name), offset_of!(libc::msghdr, msg_name)),
        (offset_of!(MessageHeader, name_len), offset_of!(libc::msghdr, msg_namelen)),
        (offset_of!(MessageHeader, vectors), offset_of!(libc::msghdr, msg_iov)),
        (offset_of!(MessageHeader, count), offset_of!(libc::msghdr, msg_iovlen)),
        (offset_of!(MessageHeader, control), offset_of!(libc::msghdr, msg_control)),
        (offset_of!(MessageHeader, control_len), offset_of!(libc::msghdr, msg_controllen)),
        (offset_of!(MessageHeader, flags), offset_of!(libc::msghdr, msg_flags)),
        (offset_of!(NumberedMessage, sent), offset_of!(libc::mmsghdr, msg_len)),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs);
    }
    assert_eq!(size_of::<NumberedMessage>(), size_of::<libc::mmsghdr>());
}
