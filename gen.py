import sys
def text(delays, rates, n, size, apart, host="1Gbit/s", extra="", hd="5ms"):
    r=len(rates)+1
    t='protocols = ["inrpp"]\nfct = "established"\nstart_jitter = "0s"\n'+extra
    t+='routers = [%s]\n'%", ".join('"r%d"'%i for i in range(r))
    t+='link_defaults = { delay = "%s", queue = "50ms" }\n'%hd
    for i,(d,b) in enumerate(zip(delays,rates)):
        t+='[[links]]\na="r%d"\nb="r%d"\nrate="%dMbit/s"\ndelay="%sms"\n'%(i,i+1,b,d)
    for i in range(n):
        t+='[[hosts]]\nname="s%d"\nattach="r0"\nrate="%s"\n[[hosts]]\nname="d%d"\nattach="r%d"\nrate="%s"\n'%(i,host,i,r-1,host)
        t+='[[flows]]\nsrc="s%d"\ndst="d%d"\nstart="%dms"\nbytes=%d\n'%(i,i,i*apart,size)
    return t
d,b,n,s,a=sys.argv[1:6]
print(text(d.split(","),[int(x) for x in b.split(",")],int(n),int(s),int(a),extra="\n".join(sys.argv[6:])+"\n"))
